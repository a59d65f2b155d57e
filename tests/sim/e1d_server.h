#pragma once
// A stand-in for osmo-e1d: serves its UNIX socket, hands time slots out as streams, and moves what
// is sent on them to where they are wired to. Does nothing by itself: the test steps it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// One thread, no waiting. Interface 0, line 0.
class E1dServer {
 public:
  using Octets = std::vector<std::uint8_t>;

  /// Listens at `path`, which must not exist.
  explicit E1dServer(std::string path);
  E1dServer(const E1dServer&) = delete;
  E1dServer& operator=(const E1dServer&) = delete;
  E1dServer(E1dServer&&) = delete;
  E1dServer& operator=(E1dServer&&) = delete;
  ~E1dServer();

  /// Ends as a program would; the path is free again.
  void stop();
  /// Begins anew.
  void start();

  // What it says of itself.
  bool has_line = true;
  bool answers = true;
  bool fails = false;  ///< requests for time slots end in an error
  std::uint8_t line_mode = 0x20;
  std::array<bool, 32> taken{};  ///< time slots that other programs have

  /// Takes clients and answers what they ask.
  void step();
  /// Sends octets as they are to the clients.
  void send_raw(const Octets& octets);
  /// An event of this type on a line.
  void send_event(std::uint8_t type, std::uint8_t interface = 0, std::uint8_t line = 0);
  /// Moves so many octets of each time slot, as the line would: what is sent on one is received on
  /// the other one of its pair (1 and 2, 3 and 4, ...), or on itself if `loopback`. A client gets
  /// its octets in pieces of the size that it asked for.
  void move(std::size_t octets);
  bool loopback = false;

  /// Clients at the moment.
  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }
  /// Everything that clients have asked so far.
  [[nodiscard]] const std::vector<Octets>& requests() const noexcept { return requests_; }
  [[nodiscard]] bool is_open(std::uint8_t timeslot) const noexcept {
    return timeslots_[timeslot].stream >= 0;
  }
  /// Gives octets to the client of an open time slot.
  void deliver(std::uint8_t timeslot, const Octets& octets);
  /// What the client has sent on a time slot and nobody has taken yet.
  [[nodiscard]] Octets take(std::uint8_t timeslot, std::size_t octets_max = 65536);
  /// Takes a time slot from its client.
  void drop(std::uint8_t timeslot);
  /// Octets that were missing when the line was to send them, after the client had begun to send.
  [[nodiscard]] std::size_t missing() const noexcept { return missing_; }

 private:
  struct Timeslot {
    int stream = -1;
    std::size_t piece = 160;
    Octets gathered;  // for the client
    bool started = false;
  };

  void answer(int client, const Octets& request);
  void open_timeslot(int client, const Octets& request);

  std::string path_;
  int listener_ = -1;
  std::vector<int> clients_;
  std::vector<Octets> requests_;
  std::array<Timeslot, 32> timeslots_{};
  std::size_t missing_ = 0;
};

}  // namespace sim
