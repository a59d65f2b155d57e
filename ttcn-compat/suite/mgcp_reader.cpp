// Reads MGCP messages and SDP strictly: what a standard does not allow is a fault with a reason, so
// that a gateway that writes it fails the test case.

#include <Mgcp.hh>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace Mgcp {
namespace {

using Text = std::string_view;

struct Fault {
  std::string reason;
};

// RFC 3435 section 3.2.2 and the extensions of Osmocom.
constexpr std::array kParameterNames{
    "A",  "B",  "C",  "D",  "E",       "ES",        "F",          "I",         "I2", "K",  "L",
    "LC", "M",  "MD", "N",  "O",       "P",         "PL",         "Q",         "R",  "RC", "RD",
    "RM", "S",  "T",  "X",  "X-OSMUX", "X-OSMO-CP", "Z",          "Z2",        "DQ", "BR", "VS",
    "RA", "RQ", "ND", "MI", "PS",      "MR",        "X-OSMO-IGN", "X-OSMUX-ST"};
// Parameters that an answer has once at most.
constexpr std::array kSingleNames{"I", "Z", "P", "M", "X-OSMUX", "X-OSMO-CP", "X-OSMUX-ST"};
constexpr int kPortMax = 65535;
constexpr int kPayloadTypeMax = 127;

struct SplitText {
  std::vector<Text> lines;
  bool all_crlf = true;
};

SplitText split_lines(Text text) {
  SplitText result;
  while (!text.empty()) {
    const auto end = text.find_first_of("\r\n");
    if (end == Text::npos) {
      result.lines.push_back(text);
      result.all_crlf = false;
      break;
    }
    const bool is_crlf = text.substr(end, 2) == "\r\n";
    result.all_crlf = result.all_crlf && is_crlf;
    result.lines.push_back(text.substr(0, end));
    text.remove_prefix(end + (is_crlf ? 2 : 1));
  }
  return result;
}

std::vector<Text> split_words(Text text) {
  std::vector<Text> words;
  while (true) {
    const auto end = text.find(' ');
    words.push_back(text.substr(0, end));
    if (words.back().empty()) {
      throw Fault{"two blanks, or one at an end: " + std::string(text)};
    }
    if (end == Text::npos) {
      return words;
    }
    text.remove_prefix(end + 1);
  }
}

int number(Text text, int maximum) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > maximum ||
      (text.size() > 1 && text[0] == '0')) {
    throw Fault{"no number up to " + std::to_string(maximum) + ": " + std::string(text)};
  }
  return value;
}

CHARSTRING charstring(Text text) {
  return CHARSTRING(static_cast<int>(text.size()), text.data());
}

void append(Lines& lines, Text name, Text value) {
  const int at = lines.size_of();
  lines[at].name() = charstring(name);
  lines[at].text() = charstring(value);
}

void read_parameter(Text line, Lines& parameters, std::set<std::string>& seen) {
  const auto colon = line.find(": ");
  if (colon == Text::npos && line.substr(std::max<std::size_t>(line.size(), 1) - 1) != ":") {
    throw Fault{"no parameter: " + std::string(line)};
  }
  std::string name(line.substr(0, std::min(colon, line.size() - 1)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  if (std::find(kParameterNames.begin(), kParameterNames.end(), name) == kParameterNames.end()) {
    throw Fault{"unknown parameter: " + std::string(line)};
  }
  const bool is_repeated = !seen.insert(name).second;
  if (is_repeated &&
      std::find(kSingleNames.begin(), kSingleNames.end(), name) != kSingleNames.end()) {
    throw Fault{"a second time: " + std::string(line)};
  }
  append(parameters, name, colon == Text::npos ? Text{} : line.substr(colon + 2));
}

// The sequence of SDP's line types, RFC 8866 section 9, as far as a gateway needs them.
void check_order(const std::vector<Text>& lines) {
  const Text session = "vosctba";
  const Text media = "cba";
  Text allowed = session;
  for (const auto line : lines) {
    if (line.size() < 2 || line[1] != '=') {
      throw Fault{"no line of SDP: " + std::string(line)};
    }
    if (line[0] == 'm') {
      allowed = media;
      continue;
    }
    const auto at = allowed.find(line[0]);
    if (at == Text::npos) {
      throw Fault{"out of order in SDP: " + std::string(line)};
    }
    allowed.remove_prefix(at);
  }
  const Text required = "vost";
  for (const char type : required) {
    if (std::none_of(lines.begin(), lines.end(), [type](Text line) { return line[0] == type; })) {
      throw Fault{std::string("SDP without ") + type + "="};
    }
  }
}

struct Connection {
  Text family;
  Text address;
};

Connection read_connection(const std::vector<Text>& words) {
  if (words.size() != 3 || words[0] != "IN" || (words[1] != "IP4" && words[1] != "IP6") ||
      (words[2].find(':') != Text::npos) != (words[1] == "IP6")) {
    throw Fault{"no address: " + std::string(words.back())};
  }
  return {words[1], words[2]};
}

struct Media {
  std::string_view line;
  int port = 0;
  std::vector<int> formats;
  std::vector<Text> attributes;
  std::optional<Connection> connection;
};

Media read_media(Text line) {
  const auto words = split_words(line.substr(2));
  if (words.size() < 4) {
    throw Fault{"too short: " + std::string(line)};
  }
  Media media{line, number(words[1], kPortMax), {}, {}, std::nullopt};
  if (media.port == 0) {
    return media;
  }
  if (words[0] != "audio" || words[2] != "RTP/AVP") {
    throw Fault{"no audio over RTP: " + std::string(line)};
  }
  for (std::size_t at = 3; at < words.size(); ++at) {
    media.formats.push_back(number(words[at], kPayloadTypeMax));
    if (std::count(media.formats.begin(), media.formats.end(), media.formats.back()) > 1) {
      throw Fault{"a payload type twice: " + std::string(line)};
    }
  }
  return media;
}

// An rtpmap or fmtp belongs to a payload type of its media line, and there is one of each.
void check_attributes(const Media& media) {
  std::set<std::string> seen;
  for (const auto line : media.attributes) {
    for (const Text kind : {Text("a=rtpmap:"), Text("a=fmtp:")}) {
      if (line.substr(0, kind.size()) != kind) {
        continue;
      }
      const auto blank = line.find(' ');
      if (blank == Text::npos) {
        throw Fault{"too short: " + std::string(line)};
      }
      const int type = number(line.substr(kind.size(), blank - kind.size()), kPayloadTypeMax);
      const bool is_listed =
          std::find(media.formats.begin(), media.formats.end(), type) != media.formats.end();
      if (!is_listed || !seen.insert(std::string(line.substr(0, blank))).second) {
        throw Fault{"of no payload type, or a second one: " + std::string(line)};
      }
    }
  }
}

void write_media(const Media& media, const std::optional<Connection>& connection, Sdp& sdp) {
  if (!connection) {
    throw Fault{"SDP without c="};
  }
  sdp.family() = charstring(connection->family);
  sdp.host() = charstring(connection->address);
  sdp.media__port() = media.port;
  sdp.formats() = NULL_VALUE;
  for (std::size_t at = 0; at < media.formats.size(); ++at) {
    sdp.formats()[static_cast<int>(at)] = media.formats[at];
  }
  sdp.attributes() = NULL_VALUE;
  for (const auto line : media.attributes) {
    const auto colon = line.find(':');
    append(sdp.attributes(), line.substr(2, std::min(colon, line.size()) - 2),
           colon == Text::npos ? Text{} : line.substr(colon + 1));
  }
}

// The first stream whose port is not 0 counts; the others are refused ones.
void read_sdp(const std::vector<Text>& lines, Sdp& sdp) {
  check_order(lines);
  std::optional<Connection> connection;
  std::vector<Media> medias;
  for (const auto line : lines) {
    if (line[0] == 'v' && line != "v=0") {
      throw Fault{"not version 0 of SDP: " + std::string(line)};
    }
    if (line[0] == 'o') {
      const auto words = split_words(line.substr(2));
      if (words.size() != 6) {
        throw Fault{"six fields are wanted: " + std::string(line)};
      }
      read_connection({words.begin() + 3, words.end()});
    } else if (line[0] == 'c') {
      (medias.empty() ? connection : medias.back().connection) =
          read_connection(split_words(line.substr(2)));
    } else if (line[0] == 'm') {
      medias.push_back(read_media(line));
    } else if (line[0] == 'a' && !medias.empty()) {
      medias.back().attributes.push_back(line);
    }
  }
  if (medias.empty()) {
    throw Fault{"SDP without m="};
  }
  const auto used =
      std::find_if(medias.begin(), medias.end(), [](const Media& m) { return m.port != 0; });
  if (used != medias.end() &&
      std::any_of(used + 1, medias.end(), [](const Media& media) { return media.port != 0; })) {
    throw Fault{"two streams in SDP"};
  }
  const Media& media = used == medias.end() ? medias.front() : *used;
  check_attributes(media);
  write_media(media, media.connection ? media.connection : connection, sdp);
}

void read(Text text, Message& message) {
  const auto [lines, all_crlf] = split_lines(text);
  if (lines.empty() || lines[0].empty()) {
    throw Fault{"empty"};
  }
  const bool is_text = std::all_of(text.begin(), text.end(), [](unsigned char octet) {
    return octet == '\r' || octet == '\n' || (octet >= ' ' && octet < 127);
  });
  if (!is_text) {
    throw Fault{"other characters than those of text"};
  }
  message.first__line() = charstring(lines[0]);
  message.line__ends() = all_crlf;
  message.parameters() = NULL_VALUE;
  message.sdp() = OMIT_VALUE;
  std::set<std::string> seen;
  for (std::size_t at = 1; at < lines.size(); ++at) {
    if (lines[at].empty()) {
      const std::vector<Text> rest(lines.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                   lines.end());
      if (!rest.empty()) {
        read_sdp(rest, message.sdp()());
      }
      return;
    }
    read_parameter(lines[at], message.parameters(), seen);
  }
}

Text text_of(const OCTETSTRING& data) {
  return {reinterpret_cast<const char*>(static_cast<const unsigned char*>(data)),
          static_cast<std::size_t>(data.lengthof())};
}

}  // namespace

CHARSTRING read__message(const OCTETSTRING& data, Message& message) {
  try {
    read(text_of(data), message);
    return "";
  } catch (const Fault& fault) {
    return fault.reason.c_str();
  }
}

Datagrams split__piggybacked(const OCTETSTRING& data) {
  const Text separator = "\r\n.\r\n";
  Datagrams result = NULL_VALUE;
  Text rest = text_of(data);
  while (true) {
    const auto at = rest.find(separator);
    const Text part = at == Text::npos ? rest : rest.substr(0, at + 2);
    result[result.size_of()] = OCTETSTRING(static_cast<int>(part.size()),
                                           reinterpret_cast<const unsigned char*>(part.data()));
    if (at == Text::npos) {
      return result;
    }
    rest.remove_prefix(at + separator.size());
  }
}

}  // namespace Mgcp
