#include "ttcn-compat/command_tree.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ttcn_compat {

namespace {

constexpr std::string_view kBlanks = " \t";

std::size_t index_of(Node node) noexcept {
  return static_cast<std::size_t>(node);
}

/// Keywords that are only abbreviated count less when their command is not offered, so that hidden
/// commands make no abbreviation ambiguous.
int rank_of(WordMatch match, const ParsedCommand& command) noexcept {
  return static_cast<int>(match) * 2 +
         (match != WordMatch::partial || command.is_visible() ? 1 : 0);
}

bool only_optional_from(const ParsedCommand& command, std::size_t position) noexcept {
  for (; position < command.elements.size(); ++position) {
    if (!command.elements[position].optional) {
      return false;
    }
  }
  return true;
}

/// The alternative of `element` with which `word` agrees best.
const Alternative* best_alternative(const Element& element, std::string_view word,
                                    Spelling spelling) noexcept {
  const Alternative* best = nullptr;
  WordMatch best_match = WordMatch::none;
  for (const Alternative& alternative : element.alternatives) {
    const WordMatch match = match_word(alternative, word);
    if (match > best_match && !(match == WordMatch::partial && spelling == Spelling::exact)) {
      best = &alternative;
      best_match = match;
    }
  }
  return best;
}

/// Which word stands for which element, and which optional elements are left out. Commands have
/// few optional elements, so trying is cheap.
bool assign_words(const ParsedCommand& command, std::size_t position,
                  std::span<const std::string_view> words, Spelling spelling,
                  std::vector<std::string_view>& chosen) {
  if (words.empty()) {
    return only_optional_from(command, position);
  }
  if (position == command.elements.size()) {
    return false;
  }
  const Element& element = command.elements[position];
  if (const Alternative* alternative = best_alternative(element, words[0], spelling)) {
    if (alternative->kind == Alternative::Kind::rest) {
      const char* const end = words.back().data() + words.back().size();
      chosen[position] = {words[0].data(), static_cast<std::size_t>(end - words[0].data())};
      return true;
    }
    chosen[position] =
        alternative->kind == Alternative::Kind::keyword ? alternative->text : words[0];
    if (assign_words(command, position + 1, words.subspan(1), spelling, chosen)) {
      return true;
    }
    chosen[position] = {};
  }
  return element.optional && assign_words(command, position + 1, words, spelling, chosen);
}

void add_help_line(std::vector<HelpLine>& lines, std::string word, std::string_view help) {
  if (std::ranges::find(lines, word, &HelpLine::word) == lines.end()) {
    lines.push_back({std::move(word), help});
  }
}

void add_suggestions(const ParsedCommand& command, std::size_t position, std::string_view begun,
                     Suggestions& out) {
  for (; position < command.elements.size(); ++position) {
    const Element& element = command.elements[position];
    for (const Alternative& alternative : element.alternatives) {
      if (!begun.empty() && match_word(alternative, begun) == WordMatch::none) {
        continue;
      }
      const std::string word(alternative.text);
      add_help_line(out.lines, element.optional ? "[" + word + "]" : word, alternative.help);
      if (alternative.kind == Alternative::Kind::keyword &&
          std::ranges::find(out.words, alternative.text) == out.words.end()) {
        out.words.push_back(alternative.text);
      }
    }
    if (!element.optional) {
      return;
    }
  }
}

}  // namespace

CommandTree::CommandTree(std::span<const CommandTable> tables,
                         std::span<const SharedWord> shared_words) {
  for (const CommandTable& table : tables) {
    for (const Command& command : table.commands) {
      add(command, table.nodes, shared_words);
    }
  }
  for (const ParsedCommand& command : commands_) {
    for (std::size_t node = 0; node < kNodeCount; ++node) {
      if (command.nodes.contains(static_cast<Node>(node))) {
        by_node_[node].push_back(&command);
      }
    }
  }
}

void CommandTree::add(const Command& command, NodeSet nodes,
                      std::span<const SharedWord> shared_words) {
  std::string error;
  std::vector<Element> elements = parse_command_text(command.text, command.help, &error);
  if (elements.empty()) {
    faults_.push_back(error);
    return;
  }
  std::string path;
  for (Element& element : elements) {
    if (element.is_argument) {
      break;
    }
    Alternative& word = element.alternatives[0];
    path += path.empty() ? "" : " ";
    path += word.text;
    const auto shared = std::ranges::find(shared_words, path, &SharedWord::path);
    if (word.help.empty() && shared != shared_words.end()) {
      word.help = shared->help;
    }
  }
  commands_.push_back({&command, nodes, false, std::string(command.text), std::move(elements)});
  if ((command.flags & kHasNoForm) != 0) {
    add_no_form(commands_.back());
  }
}

void CommandTree::add_no_form(const ParsedCommand& form) {
  ParsedCommand no_form{form.command, form.nodes, true, "no", {}};
  Element no;
  no.alternatives.push_back({.text = "no", .help = "Undo or switch off"});
  no_form.elements.push_back(no);
  for (const Element& element : form.elements) {
    if (element.is_argument) {
      break;
    }
    no_form.text += ' ';
    no_form.text += element.alternatives[0].text;
    no_form.elements.push_back(element);
  }
  commands_.push_back(std::move(no_form));
}

std::span<const ParsedCommand* const> CommandTree::commands(Node node) const noexcept {
  return by_node_[index_of(node)];
}

CommandTree::States CommandTree::start(Node node, Spelling spelling) const {
  const CommandFlags unknown = spelling == Spelling::exact ? kSessionOnly | kRedirected : kNoFlags;
  States states;
  for (const ParsedCommand* command : by_node_[index_of(node)]) {
    if ((command->command->flags & unknown) == 0) {
      states.all.push_back({command, 0, false});
    }
  }
  return states;
}

CommandTree::States CommandTree::step(const States& states, std::string_view word,
                                      Spelling spelling) {
  States next;
  int best = 0;
  std::string_view keyword;
  const auto take = [&](const State& state, std::size_t position, const Alternative& alternative) {
    const WordMatch match = match_word(alternative, word);
    if (match == WordMatch::none || (match == WordMatch::partial && spelling == Spelling::exact)) {
      return;
    }
    const int rank = rank_of(match, *state.command);
    if (rank > best) {
      next = {};
      best = rank;
      keyword = alternative.text;
    }
    if (rank == best) {
      const bool rest = alternative.kind == Alternative::Kind::rest;
      next.all.push_back({state.command, position + 1, rest});
      next.ambiguous |= match == WordMatch::partial && keyword != alternative.text;
    }
  };
  for (const State& state : states.all) {
    if (state.in_rest) {
      if (best == 0) {
        next.all.push_back(state);
      }
      continue;
    }
    const auto& elements = state.command->elements;
    for (std::size_t position = state.position; position < elements.size(); ++position) {
      for (const Alternative& alternative : elements[position].alternatives) {
        take(state, position, alternative);
      }
      if (!elements[position].optional) {
        break;
      }
    }
  }
  return next;
}

CommandTree::States CommandTree::walk(Node node, std::span<const std::string_view> words,
                                      Spelling spelling) const {
  States states = start(node, spelling);
  for (const std::string_view word : words) {
    states = step(states, word, spelling);
    if (states.all.empty() || states.ambiguous) {
      break;
    }
  }
  return states;
}

CommandMatch CommandTree::match_in(Node node, std::string_view line, Spelling spelling) const {
  CommandMatch result;
  result.node = node;
  const std::vector<std::string_view> words = split_words(line);
  if (words.empty()) {
    result.kind = MatchKind::empty;
    return result;
  }
  const States states = walk(node, words, spelling);
  if (states.all.empty() || states.ambiguous) {
    result.kind = states.ambiguous ? MatchKind::ambiguous : MatchKind::unknown;
    return result;
  }
  for (const State& state : states.all) {
    std::vector<std::string_view> chosen(state.command->elements.size());
    if (!only_optional_from(*state.command, state.position) ||
        !assign_words(*state.command, 0, words, spelling, chosen)) {
      continue;
    }
    result.kind = MatchKind::complete;
    result.command = state.command->command;
    result.negated = state.command->negated;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (state.command->elements[i].is_argument) {
        result.arguments.push_back(chosen[i]);
      }
    }
    return result;
  }
  result.kind = MatchKind::incomplete;
  return result;
}

CommandTree::Place CommandTree::behind_redirection(Node node, std::string_view line) const {
  const std::size_t begin = line.find_first_not_of(kBlanks);
  const std::size_t end = line.find_first_of(kBlanks, std::min(begin, line.size()));
  if (end == std::string_view::npos) {
    return {node, line};
  }
  const States states = step(start(node, Spelling::abbreviated), line.substr(begin, end - begin),
                             Spelling::abbreviated);
  const bool redirected = !states.ambiguous && !states.all.empty() &&
                          std::ranges::all_of(states.all, [](const State& state) {
                            return (state.command->command->flags & kRedirected) != 0;
                          });
  return redirected ? Place{Node::enable, line.substr(end + 1)} : Place{node, line};
}

CommandMatch CommandTree::match_here(Node node, std::string_view line, Spelling spelling) const {
  const Place place =
      spelling == Spelling::exact ? Place{node, line} : behind_redirection(node, line);
  CommandMatch result = match_in(place.node, place.line, spelling);
  if (place.node != node) {
    result.node = node;
    result.kind = result.kind == MatchKind::empty ? MatchKind::incomplete : result.kind;
  }
  return result;
}

CommandMatch CommandTree::match(Node node, std::string_view line, Spelling spelling) const {
  const CommandMatch result = match_here(node, line, spelling);
  while (result.kind == MatchKind::unknown && spelling == Spelling::abbreviated &&
         is_configuration(node_info(node).parent)) {
    node = node_info(node).parent;
    CommandMatch above = match_here(node, line, spelling);
    if (above.kind != MatchKind::unknown) {
      return above;
    }
  }
  return result;
}

Suggestions CommandTree::suggest_in(Node node, std::string_view line, Visibility visibility) const {
  Suggestions result;
  std::vector<std::string_view> words = split_words(line);
  std::string_view begun;
  if (!words.empty() && kBlanks.find(line.back()) == std::string_view::npos) {
    begun = words.back();
    words.pop_back();
  }
  const States states = walk(node, words, Spelling::abbreviated);
  if (states.ambiguous) {
    result.kind = MatchKind::ambiguous;
    return result;
  }
  bool may_end = false;
  for (const State& state : states.all) {
    if (visibility == Visibility::offered && !state.command->is_visible()) {
      continue;
    }
    add_suggestions(*state.command, state.position, begun, result);
    may_end |=
        !words.empty() && begun.empty() && only_optional_from(*state.command, state.position);
  }
  if (may_end) {
    add_help_line(result.lines, "<cr>", "");
  }
  result.kind = result.lines.empty() ? MatchKind::unknown : MatchKind::complete;
  return result;
}

Suggestions CommandTree::suggest(Node node, std::string_view line, Visibility visibility) const {
  for (;; node = node_info(node).parent) {
    const Place place = behind_redirection(node, line);
    Suggestions result = suggest_in(place.node, place.line, visibility);
    if (result.kind != MatchKind::unknown || !is_configuration(node_info(node).parent)) {
      return result;
    }
  }
}

std::vector<std::string> CommandTree::faults() const {
  std::vector<std::string> all = faults_;
  for (const ParsedCommand& command : commands_) {
    for (const Element& element : command.elements) {
      for (const Alternative& alternative : element.alternatives) {
        if (alternative.help.empty()) {
          all.push_back(command.text + ": no help for " + std::string(alternative.text));
        }
      }
    }
  }
  for (const auto& node : by_node_) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      for (std::size_t j = i + 1; j < node.size(); ++j) {
        if (node[i]->text == node[j]->text) {
          all.push_back(node[i]->text + ": declared twice");
        }
      }
    }
  }
  return all;
}

}  // namespace ttcn_compat
