// A call agent made of libosmo-mgcp-client, the library with which osmo-bsc and osmo-msc speak
// MGCP. It does what the lines on its standard input say and writes what the library makes of the
// answers, one JSON object per line each way:
//   {"do": "client", "client": NAME, "remote": ADDRESS, "port": N, "local": ADDRESS}
//     -> "connected"
//   {"do": "send", "client": NAME, "verb": "crcx", "endpoint": ENDPOINT, LEG...}
//     -> "sent", later "answer"
//   {"do": "endpoint", "client": NAME, "name": MACHINE, "endpoint": ENDPOINT}
//     -> "gone" when the library has given the endpoint up
//   {"do": "request", "name": MACHINE, "ci": NAME, "verb": "crcx", LEG...}
//     -> later "done" or "failed"
//   {"do": "clear", "name": MACHINE}
//     -> "gone"
// LEG: "call", "id", "address", "rtp_port", "mode", "ptime", "codecs": [NAME...],
// "map": [[NAME, PAYLOAD TYPE]...], "octet_aligned", "ignore_call".
// A line that can't be obeyed gets an "error". The program ends with its standard input.

extern "C" {
#include <osmocom/core/application.h>
#include <osmocom/core/fsm.h>
#include <osmocom/core/logging.h>
#include <osmocom/core/msgb.h>
#include <osmocom/core/select.h>
#include <osmocom/core/socket.h>
#include <osmocom/core/tdef.h>
#include <osmocom/core/utils.h>
#include <osmocom/mgcp_client/mgcp_client.h>
#include <osmocom/mgcp_client/mgcp_client_endpoint_fsm.h>
#include <osmocom/mgcp_client/mgcp_client_fsm.h>
#include <talloc.h>
}

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;

/// Events of the listeners: what the library's state machines tell their users.
enum ListenerEvent : std::uint32_t { done, failed, gone };

constexpr std::array<value_string, 4> kEventNames = {
    {{done, "done"}, {failed, "failed"}, {gone, "gone"}, {0, nullptr}}};

/// One connection of an endpoint state machine, and the endpoint itself (without a `ci`).
struct Listener {
  std::string name;
  osmo_fsm_inst* machine = nullptr;
  osmo_mgcpc_ep_ci* ci = nullptr;
};

struct Client {
  std::string name;
  mgcp_client_conf conf{};
  std::string remote;
  std::string local;
  mgcp_client* client = nullptr;
};

/// A command of which no answer has come.
struct Sent {
  std::string client;
  mgcp_trans_id_t transaction = 0;
  mgcp_verb verb = MGCP_VERB_CRCX;
};

struct Endpoint {
  Listener listener;
  osmo_mgcpc_ep* endpoint = nullptr;
  std::map<std::string, Listener> connections;
};

void write(const json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

template <std::size_t N>
void copy_text(char (&target)[N], const std::string& text) {
  if (text.size() >= N) {
    throw std::invalid_argument("too long: " + text);
  }
  std::copy(text.begin(), text.end(), target);
  target[text.size()] = '\0';
}

mgcp_verb verb_of(const json& line) {
  static const std::map<std::string, mgcp_verb> verbs = {{"crcx", MGCP_VERB_CRCX},
                                                         {"mdcx", MGCP_VERB_MDCX},
                                                         {"dlcx", MGCP_VERB_DLCX},
                                                         {"auep", MGCP_VERB_AUEP},
                                                         {"rsip", MGCP_VERB_RSIP}};
  return verbs.at(line.at("verb").get<std::string>());
}

mgcp_connection_mode mode_of(const json& line) {
  const std::string name = line.value("mode", "");
  for (const auto mode :
       {MGCP_CONN_RECV_ONLY, MGCP_CONN_SEND_ONLY, MGCP_CONN_RECV_SEND, MGCP_CONN_LOOPBACK}) {
    if (name == mgcp_client_cmode_name(mode)) {
      return mode;
    }
  }
  return MGCP_CONN_NONE;
}

mgcp_codecs codec_of(const json& name) {
  const auto codec = map_str_to_codec(name.get<std::string>().c_str());
  if (static_cast<int>(codec) < 0) {
    throw std::invalid_argument("the library knows no codec " + name.get<std::string>());
  }
  return codec;
}

/// The next free place of one of the library's arrays.
template <typename Entry, std::size_t N>
Entry& append(Entry (&entries)[N], unsigned& used) {
  if (used == N) {
    throw std::invalid_argument("the library takes no more codecs");
  }
  return entries[used++];
}

/// What commands (mgcp_msg) and requests (mgcp_conn_peer) have in common.
template <typename Command>
void fill_leg(const json& line, Command& command) {
  command.call_id = line.value("call", 0U);
  command.conn_mode = mode_of(line);
  command.ptime = line.value("ptime", 0U);
  for (const json& name : line.value("codecs", json::array())) {
    append(command.codecs, command.codecs_len) = codec_of(name);
  }
  for (const json& entry : line.value("map", json::array())) {
    append(command.ptmap, command.ptmap_len) = {codec_of(entry.at(0)), entry.at(1).get<unsigned>()};
  }
  if (line.contains("octet_aligned")) {
    command.param_present = true;
    command.param.amr_octet_aligned_present = true;
    command.param.amr_octet_aligned = line["octet_aligned"].get<bool>();
  }
  command.x_osmo_ign = line.value("ignore_call", false) ? MGCP_X_OSMO_IGN_CALLID : 0;
}

template <typename Described>
void describe_codecs(const Described& described, json& out) {
  out["ptime"] = described.ptime;
  out["codecs"] = json::array();
  for (unsigned i = 0; i < described.codecs_len; ++i) {
    const auto codec = described.codecs[i];
    out["codecs"].push_back({osmo_mgcpc_codec_name(codec),
                             map_codec_to_pt(described.ptmap, described.ptmap_len, codec)});
  }
}

/// The library's state machines and clients, and what was asked of them.
class Driver {
 public:
  explicit Driver(void* context) : context_(context) {
    root_ = osmo_fsm_inst_alloc(&fsm(), context, nullptr, LOGL_DEBUG, nullptr);
  }

  /// Does what one line of input says.
  void execute(const std::string& text) {
    const json line = json::parse(text);
    const std::string what = line.at("do");
    if (what == "client") {
      connect(line);
    } else if (what == "send") {
      send(line);
    } else if (what == "endpoint") {
      add_endpoint(line);
    } else if (what == "request") {
      request(line);
    } else if (what == "clear") {
      osmo_mgcpc_ep_clear(endpoints_.at(line.at("name")).endpoint);
    } else {
      throw std::invalid_argument("unknown: " + what);
    }
  }

  /// The listeners' machine: it has one state and passes everything on.
  static osmo_fsm& fsm() {
    static const osmo_fsm_state state{.in_event_mask = 0,
                                      .out_state_mask = 0,
                                      .name = "LISTENING",
                                      .action = nullptr,
                                      .onenter = nullptr,
                                      .onleave = nullptr};
    static osmo_fsm machine = [] {
      osmo_fsm made{};
      made.name = "listener";
      made.states = &state;
      made.num_states = 1;
      made.allstate_event_mask = 1U << done | 1U << failed | 1U << gone;
      made.allstate_action = &Driver::on_event;
      made.log_subsys = DLGLOBAL;
      made.event_names = kEventNames.data();
      return made;
    }();
    return machine;
  }

 private:
  mgcp_client* client(const json& line) { return clients_.at(line.at("client"))->client; }

  void connect(const json& line) {
    auto added = std::make_unique<Client>();
    added->name = line.at("client");
    added->remote = line.at("remote");
    added->local = line.value("local", "127.0.0.1");
    mgcp_client_conf_init(&added->conf);
    added->conf.remote_addr = added->remote.c_str();
    added->conf.remote_port = line.at("port");
    added->conf.local_addr = added->local.c_str();
    added->conf.local_port = 0;
    added->client = mgcp_client_init(context_, &added->conf);
    const int result = mgcp_client_connect(added->client);
    write({{"event", "connected"}, {"client", added->name}, {"result", result}});
    clients_[added->name] = std::move(added);
  }

  void send(const json& line) {
    mgcp_msg message{};
    message.verb = verb_of(line);
    message.presence = MGCP_MSG_PRESENCE_ENDPOINT;
    copy_text(message.endpoint, line.at("endpoint"));
    fill_leg(line, message);
    std::string id = line.value("id", "");
    std::string address = line.value("address", "");
    const auto present = [&](bool is, std::uint32_t flag) { message.presence |= is ? flag : 0U; };
    present(line.contains("call"), MGCP_MSG_PRESENCE_CALL_ID);
    present(line.contains("id"), MGCP_MSG_PRESENCE_CONN_ID);
    present(line.contains("address"), MGCP_MSG_PRESENCE_AUDIO_IP);
    present(line.contains("rtp_port"), MGCP_MSG_PRESENCE_AUDIO_PORT);
    present(line.contains("mode"), MGCP_MSG_PRESENCE_CONN_MODE);
    present(message.x_osmo_ign != 0, MGCP_MSG_PRESENCE_X_OSMO_IGN);
    message.conn_id = id.data();
    message.audio_ip = address.data();
    message.audio_port = line.value("rtp_port", std::uint16_t{0});
    msgb* encoded = mgcp_msg_gen(client(line), &message);
    if (encoded == nullptr) {
      write({{"event", "unsent"}, {"client", line["client"]}});
      return;
    }
    const auto transaction = mgcp_msg_trans_id(encoded);
    auto& sent = *sent_.emplace_back(
        std::make_unique<Sent>(Sent{line["client"], transaction, message.verb}));
    write({{"event", "sent"}, {"client", sent.client}, {"transaction", transaction}});
    mgcp_client_tx(client(line), encoded, &Driver::on_answer, &sent);
  }

  void add_endpoint(const json& line) {
    Endpoint& added = endpoints_[line.at("name")];
    added.listener.name = line["name"];
    listen(added.listener);
    const std::string name = line.at("endpoint");
    added.endpoint = osmo_mgcpc_ep_alloc(added.listener.machine, gone, client(line), timers(),
                                         added.listener.name.c_str(), "%s", name.c_str());
    if (added.endpoint == nullptr) {
      throw std::runtime_error("no endpoint " + name);
    }
  }

  void request(const json& line) {
    Endpoint& endpoint = endpoints_.at(line.at("name"));
    Listener& listener = endpoint.connections[line.at("ci")];
    if (listener.ci == nullptr) {
      listener.name = endpoint.listener.name + "-" + line["ci"].get<std::string>();
      listen(listener);
      listener.ci = osmo_mgcpc_ep_ci_add(endpoint.endpoint, "%s", listener.name.c_str());
    }
    const mgcp_verb verb = verb_of(line);
    if (verb == MGCP_VERB_DLCX) {
      osmo_mgcpc_ep_ci_dlcx(std::exchange(listener.ci, nullptr));
      return;
    }
    mgcp_conn_peer peer{};
    fill_leg(line, peer);
    copy_text(peer.addr, line.value("address", ""));
    peer.port = line.value("rtp_port", std::uint16_t{0});
    osmo_mgcpc_ep_ci_request(listener.ci, verb, &peer, listener.machine, done, failed, nullptr);
  }

  void listen(Listener& listener) {
    if (listener.machine == nullptr) {
      listener.machine = osmo_fsm_inst_alloc_child(&fsm(), root_, gone);
      listener.machine->priv = &listener;
    }
  }

  static void on_event(osmo_fsm_inst* machine, std::uint32_t event, void*) {
    if (machine->priv == nullptr) {
      return;
    }
    auto& listener = *static_cast<Listener*>(machine->priv);
    json out = {{"event", kEventNames.at(event).str}, {"name", listener.name}};
    if (event == failed) {
      listener.ci = nullptr;
    }
    if (event == done && listener.ci != nullptr) {
      out["endpoint"] = osmo_mgcpc_ep_name(osmo_mgcpc_ep_ci_ep(listener.ci));
      out["id"] = osmo_mgcpc_ep_ci_id(listener.ci);
      if (const mgcp_conn_peer* rtp = osmo_mgcpc_ep_ci_get_rtp_info(listener.ci)) {
        out["address"] = rtp->addr;
        out["rtp_port"] = rtp->port;
        describe_codecs(*rtp, out);
      }
    }
    write(out);
  }

  static void on_answer(mgcp_response* response, void* argument) {
    const auto& sent = *static_cast<const Sent*>(argument);
    json out = {{"event", "answer"}, {"client", sent.client}, {"transaction", sent.transaction}};
    if (response == nullptr) {
      out["code"] = nullptr;
      write(out);
      return;
    }
    const mgcp_response_head& head = response->head;
    out.update({{"code", head.response_code},
                {"answered", head.trans_id},
                {"comment", head.comment},
                {"id", head.conn_id},
                {"endpoint", head.endpoint},
                {"osmux", head.x_osmo_osmux_use},
                {"body", response->body}});
    if (head.response_code == 200 && (sent.verb == MGCP_VERB_CRCX || sent.verb == MGCP_VERB_MDCX)) {
      out["parsed"] = mgcp_response_parse_params(response);
      out["address"] = response->audio_ip;
      out["rtp_port"] = response->audio_port;
      describe_codecs(*response, out);
    }
    write(out);
  }

  static const osmo_tdef* timers() {
    static std::array<osmo_tdef, 2> definitions = {
        osmo_tdef{-2427, 5, OSMO_TDEF_S, "waiting for an answer", 0, 0, 0}, osmo_tdef{}};
    static const bool set = (osmo_tdefs_reset(definitions.data()), true);
    static_cast<void>(set);
    return definitions.data();
  }

  void* context_;
  osmo_fsm_inst* root_ = nullptr;
  std::map<std::string, std::unique_ptr<Client>> clients_;
  std::map<std::string, Endpoint> endpoints_;
  std::vector<std::unique_ptr<Sent>> sent_;
};

/// Lines from standard input to the driver; the program ends with the input.
class Input {
 public:
  explicit Input(Driver& driver) : driver_(driver) {
    osmo_fd_setup(&descriptor_, STDIN_FILENO, OSMO_FD_READ, &Input::on_readable, this, 0);
    osmo_fd_register(&descriptor_);
  }
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  static int on_readable(osmo_fd* descriptor, unsigned) {
    static_cast<Input*>(descriptor->data)->read_more();
    return 0;
  }

  void read_more() {
    std::array<char, 65536> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) {
      at_end_ = true;
      return;
    }
    pending_.append(bytes.data(), static_cast<std::size_t>(count));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = pending_.find('\n', start)) != std::string::npos;) {
      execute(pending_.substr(start, end - start));
      start = end + 1;
    }
    pending_.erase(0, start);
  }

  void execute(const std::string& line) {
    try {
      driver_.execute(line);
    } catch (const std::exception& error) {
      write({{"event", "error"}, {"what", error.what()}, {"line", line}});
    }
  }

  Driver& driver_;
  osmo_fd descriptor_{};
  std::string pending_;
  bool at_end_ = false;
};

}  // namespace

int main() {
  void* const context = talloc_named_const(nullptr, 0, "driver");
  static const log_info categories{};
  osmo_init_logging2(context, &categories);
  log_set_use_color(osmo_stderr_target, 0);
  log_set_log_level(osmo_stderr_target, LOGL_ERROR);
  osmo_fsm_register(&Driver::fsm());
  {
    Driver driver(context);
    Input input(driver);
    while (!input.at_end()) {
      osmo_select_main(0);
    }
  }
  return 0;
}
