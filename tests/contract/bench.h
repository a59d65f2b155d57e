#pragma once
// What the contract suite needs of an implementation: a backend, a socket factory, far ends to talk
// to, and a way to let time pass. One bench per implementation; every test runs on all of them.

#include "io/backend.h"
#include "io/buffer_pool.h"
#include "io/sim_network.h"
#include "io/socket_factory.h"
#include "io/time.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace contract {

using namespace std::chrono_literals;

/// What a far end received.
struct FarDatagram {
  io::SocketAddress source;
  std::string payload;
  std::uint8_t traffic_class = 0;  ///< TOS (IPv4) or traffic class (IPv6) byte
};

/// A plain UDP socket at the far end, outside of the backend under test.
class FarEnd {
 public:
  FarEnd() = default;
  FarEnd(const FarEnd&) = delete;
  FarEnd& operator=(const FarEnd&) = delete;
  FarEnd(FarEnd&&) = delete;
  FarEnd& operator=(FarEnd&&) = delete;
  virtual ~FarEnd() = default;

  [[nodiscard]] virtual const io::SocketAddress& local() const noexcept = 0;
  virtual void send(const io::SocketAddress& target, std::string_view payload) = 0;
  /// The next datagram; empty if none comes within a few seconds, or at once if `wait` is false.
  [[nodiscard]] virtual std::optional<FarDatagram> receive(bool wait = true) = 0;
};

/// Everything around one implementation.
class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  Bench(Bench&&) = delete;
  Bench& operator=(Bench&&) = delete;
  virtual ~Bench() = default;

  [[nodiscard]] virtual std::unique_ptr<io::Backend> make_backend(
      io::BufferPool& pool, const io::BackendOptions& options) = 0;
  [[nodiscard]] virtual io::SocketFactory& factory() noexcept = 0;
  [[nodiscard]] virtual std::unique_ptr<FarEnd> make_far_end(const io::SocketAddress& local) = 0;
  [[nodiscard]] virtual io::TimePoint now() const noexcept = 0;
  /// One pass that waits at most `timeout`.
  virtual io::PassResult pass(io::Backend& backend, io::Duration timeout) = 0;
  /// True if passes block in the kernel and real threads may wake them.
  [[nodiscard]] virtual bool real() const noexcept = 0;
};

/// Real sockets on the loopback interface.
class KernelBench : public Bench {
 public:
  [[nodiscard]] io::SocketFactory& factory() noexcept override { return factory_; }
  [[nodiscard]] std::unique_ptr<FarEnd> make_far_end(const io::SocketAddress& local) override;
  [[nodiscard]] io::TimePoint now() const noexcept override { return clock_.now(); }
  io::PassResult pass(io::Backend& backend, io::Duration timeout) override {
    return backend.pass(now() + timeout);
  }
  [[nodiscard]] bool real() const noexcept override { return true; }

 private:
  io::KernelSocketFactory factory_;
  io::MonotonicClock clock_;
};

/// The backend over epoll.
class PollBench final : public KernelBench {
 public:
  static constexpr bool kSimulated = false;
  [[nodiscard]] static bool available() { return true; }
  [[nodiscard]] std::unique_ptr<io::Backend> make_backend(
      io::BufferPool& pool, const io::BackendOptions& options) override;
};

/// The backend over io_uring.
class UringBench final : public KernelBench {
 public:
  static constexpr bool kSimulated = false;
  /// False where the kernel refuses io_uring; why_not() then tells why.
  [[nodiscard]] static bool available();
  [[nodiscard]] static const std::string& why_not();
  [[nodiscard]] std::unique_ptr<io::Backend> make_backend(
      io::BufferPool& pool, const io::BackendOptions& options) override;
};

/// The simulated backend.
class SimBench final : public Bench {
 public:
  static constexpr bool kSimulated = true;
  [[nodiscard]] static bool available() { return true; }
  [[nodiscard]] std::unique_ptr<io::Backend> make_backend(
      io::BufferPool& pool, const io::BackendOptions& options) override;
  [[nodiscard]] io::SocketFactory& factory() noexcept override { return factory_; }
  [[nodiscard]] std::unique_ptr<FarEnd> make_far_end(const io::SocketAddress& local) override;
  [[nodiscard]] io::TimePoint now() const noexcept override { return clock_.now(); }
  io::PassResult pass(io::Backend& backend, io::Duration timeout) override;
  [[nodiscard]] bool real() const noexcept override { return false; }
  [[nodiscard]] io::SimNetwork& network() noexcept { return network_; }

 private:
  io::SimClock clock_;
  io::SimNetwork network_{clock_, 1};
  io::SimSocketFactory factory_{network_};
};

/// The implementations, for TEST_CASE_TEMPLATE.
#define MGW_CONTRACT_BENCHES contract::PollBench, contract::UringBench, contract::SimBench

/// Loopback address of a family, any port.
[[nodiscard]] io::SocketAddress loopback(io::AddressFamily family = io::AddressFamily::ipv4);

/// A copy of a received datagram.
struct Received {
  io::SocketId socket;
  std::uint64_t tag = 0;
  io::SocketAddress peer;
  std::string payload;
  std::uint64_t pass = 0;  ///< number of the pass that brought it, from 1
};

/// An open socket of the node under test.
struct NodeSocket {
  io::SocketId id;
  io::SocketAddress local;
};

/// What a node is made with.
struct NodeOptions {
  std::uint32_t slots = 2048;
  std::uint32_t slot_bytes = 2048;
  io::BackendOptions backend;
};

/// The backend under test with its pool. Its destructor checks that every queued datagram was sent
/// or counted as dropped, and every received one was seen.
class Node {
 public:
  explicit Node(Bench& bench, const NodeOptions& options = {});
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  Node(Node&&) = delete;
  Node& operator=(Node&&) = delete;
  ~Node();

  /// Opens a socket bound to `options.local`; fails the test if that fails.
  NodeSocket open(const io::SocketOptions& options, std::uint64_t tag = 0);
  NodeSocket open(const io::SocketAddress& local, std::uint64_t tag = 0);
  void send(io::SocketId socket, const io::SocketAddress& peer, std::string_view payload);
  void close(io::SocketId socket) { backend().close(socket); }
  /// One pass; appends what it brought to received and events. Returns what it brought.
  std::size_t pass(io::Duration timeout);
  /// Passes until `done` holds; false after a few seconds.
  [[nodiscard]] bool run_until(const std::function<bool()>& done);
  [[nodiscard]] bool run_until_received(std::size_t count);
  /// Passes until the socket's `closed` event came.
  [[nodiscard]] bool run_until_closed(io::SocketId socket);

  [[nodiscard]] std::size_t closed_events(io::SocketId socket) const;
  [[nodiscard]] std::vector<std::string> payloads(io::SocketId socket) const;
  [[nodiscard]] io::Backend& backend() noexcept { return *backend_; }
  [[nodiscard]] io::BufferPool& pool() noexcept { return pool_; }
  /// Destroys the backend with whatever is open.
  void destroy_backend();

  std::vector<Received> received;
  std::vector<io::SocketEvent> events;
  /// If set, received buffers are kept here instead of going back to the pool.
  bool hold = false;
  io::DatagramVector held;
  bool woken = false;  ///< the last pass reported a wake

 private:
  void check_balance();

  Bench& bench_;
  io::BufferPool pool_;
  std::unique_ptr<io::Backend> backend_;
  std::uint64_t queued_ = 0;
  std::uint64_t passes_ = 0;
};

/// "0".."count-1" with a prefix.
[[nodiscard]] std::vector<std::string> numbered(std::string_view prefix, std::size_t count);

/// Open file descriptors of this process.
[[nodiscard]] std::size_t open_descriptors();

/// True, with the reason printed, if this implementation can't run here.
template <typename BenchType>
[[nodiscard]] bool skipped() {
  return !BenchType::available();
}

}  // namespace contract
