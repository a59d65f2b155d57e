#pragma once
// The reference of all commands, generated from their declarations: docs/vty-reference.md is this
// text.

#include "ttcn-compat/command_tree.h"

#include <ostream>
#include <string>
#include <string_view>

namespace ttcn_compat {

/// Writes the reference as Markdown.
void write_reference(std::ostream& out, const CommandTree& tree);

/// What stands before and after the nodes in the XML of `show online-help`, whose elements are
/// those of Osmocom's programs.
inline constexpr std::string_view kReferenceXmlStart =
    "<vtydoc xmlns='urn:osmocom:xml:libosmocore:vty:doc:1.0'>\n";
inline constexpr std::string_view kReferenceXmlEnd = "</vtydoc>\n";

/// One node as XML. Hidden and deprecated commands are left out.
[[nodiscard]] std::string reference_xml(const CommandTree& tree, Node node);

}  // namespace ttcn_compat
