#include "io/poll_backend.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace io {

namespace {

/// In epoll's user data, where sockets have their slot: the eventfd of wake().
constexpr std::uint32_t kWakeIndex = 0xffffffff;
/// Room for events and sends that never allocates; beyond it the vectors grow and stay large.
constexpr std::size_t kEventsReserved = 64;
constexpr std::size_t kSendsReserved = 2 * Backend::kReceivedPerPassMax;
/// Spares are at most this part of the pool, so that a small one still serves others.
constexpr std::uint32_t kSparesDivisor = 4;

std::uint64_t pack(std::uint32_t index, std::uint32_t generation) noexcept {
  return (std::uint64_t{generation} << 32U) | index;
}

TimePoint monotonic_now() noexcept {
  return MonotonicClock{}.now();
}

/// What is left until `deadline`, zero if it has passed.
timespec remaining(TimePoint deadline) noexcept {
  const Duration left = std::max(Duration::zero(), deadline - monotonic_now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  timespec result{};
  result.tv_sec = seconds.count();
  result.tv_nsec = (left - seconds).count();
  return result;
}

/// `time` in whole milliseconds, rounded up so that no wait ends early.
int milliseconds_up(const timespec& time) noexcept {
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max() / 2;
  const std::int64_t result =
      std::int64_t{time.tv_sec} * 1000 + (time.tv_nsec + 999'999) / 1'000'000;
  return static_cast<int>(std::min(result, kLongest));
}

std::uint32_t descriptor_limit() noexcept {
  rlimit limit{};
  constexpr rlim_t kMost = 1'048'576;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return kMost;
  }
  return static_cast<std::uint32_t>(std::min(limit.rlim_cur, kMost));
}

}  // namespace

PollBackend::PollBackend(BufferPool& pool, const BackendOptions& options)
    : pool_(pool),
      options_(options),
      coalescing_(options.coalescing),
      spares_target_(std::clamp<std::size_t>(pool.slots() / kSparesDivisor, 1, kSparesMax)) {
  MGW_ASSERT(pool.slot_bytes() > kHeadroomBytes);
  if (options_.sockets_max == 0) {
    options_.sockets_max = descriptor_limit();
  }
  received_.reserve(kReceivedPerPassMax);
  outgoing_.reserve(kSendsReserved);
  events_.reserve(kEventsReserved);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
  wake_event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = pack(kWakeIndex, 0);
  if (wake_event_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_event_, &event) != 0) {
    const int error = errno;
    ::close(epoll_);
    if (wake_event_ >= 0) {
      ::close(wake_event_);
    }
    throw std::system_error(error, std::generic_category(), "eventfd");
  }
}

PollBackend::~PollBackend() {
  for (const Slot& slot : slots_) {
    if (slot.state != SlotState::unused) {
      ::close(slot.descriptor);
    }
  }
  ::close(wake_event_);
  ::close(epoll_);
}

PollBackend::Slot* PollBackend::find(SocketId socket) noexcept {
  if (socket.index >= slots_.size()) {
    return nullptr;
  }
  Slot& slot = slots_[socket.index];
  const bool current = slot.generation == socket.generation && slot.state != SlotState::unused;
  return current ? &slot : nullptr;
}

std::uint32_t PollBackend::take_slot() {
  if (!unused_slots_.empty()) {
    const std::uint32_t index = unused_slots_.back();
    unused_slots_.pop_back();
    return index;
  }
  const auto index = static_cast<std::uint32_t>(slots_.size());
  slots_.emplace_back();
  // Closing must not allocate: room for every slot in both lists from the beginning.
  unused_slots_.reserve(slots_.capacity());
  closing_slots_.reserve(slots_.capacity());
  return index;
}

Result<SocketId> PollBackend::open(BoundSocket&& socket, std::uint64_t tag) noexcept {
  BoundSocket owned = std::move(socket);
  MGW_ASSERT(owned);
  if (open_sockets_ >= options_.sockets_max) {
    return failure(ENFILE);
  }
  std::uint32_t index = 0;
  try {
    if (owned.joins_received()) {
      joined_.prepare();
    }
    index = take_slot();
  } catch (const std::bad_alloc&) {
    return failure(ENOMEM);
  }
  Slot& slot = slots_[index];
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = pack(index, slot.generation);
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, owned.handle(), &event) != 0) {
    const int error = errno;
    unused_slots_.push_back(index);
    return failure(error);
  }
  sockaddr_in6 peer{};
  socklen_t peer_size = sizeof(peer);
  slot.connected =
      ::getpeername(owned.handle(), reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
  slot.join_limit = owned.joins_sent() ? join_limit_of(owned.handle()) : std::uint16_t{0};
  slot.joins_received = owned.joins_received();
  slot.descriptor = owned.release();
  slot.tag = tag;
  slot.state = SlotState::open;
  counters_.sockets.set(++open_sockets_);
  return SocketId{index, slot.generation};
}

void PollBackend::close(SocketId socket) noexcept {
  Slot* slot = find(socket);
  if (slot == nullptr || slot->state == SlotState::closing) {
    return;
  }
  slot->state = SlotState::closing;
  slot->close_mark = outgoing_.size();
  closing_slots_.push_back(socket.index);
}

void PollBackend::wake() noexcept {
  const int saved = errno;
  if (!wake_pending_.exchange(true)) {
    const std::uint64_t one = 1;
    // Can only fail when the counter is near 2^64, and then it is readable already.
    static_cast<void>(!::write(wake_event_, &one, sizeof(one)));
  }
  errno = saved;
}

void PollBackend::set_peer(SocketId socket, const SocketAddress& peer) noexcept {
  Slot* slot = find(socket);
  if (slot == nullptr || !options_.connect_peers || slot->connected || slot->peer == peer) {
    return;
  }
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  const bool to_nobody = peer.family() == AddressFamily::none;
  const int result = to_nobody
                         ? ::connect(slot->descriptor, &none, sizeof(none))
                         : ::connect(slot->descriptor, peer.kernel_address(), peer.kernel_size());
  // Where there is no way to the peer yet, the socket stays as it was: strangers are checked
  // anyway.
  if (result == 0) {
    slot->peer = peer;
  } else if (slot->peer.family() != AddressFamily::none) {
    static_cast<void>(::connect(slot->descriptor, &none, sizeof(none)));
    slot->peer = SocketAddress();
  }
}

PassResult PollBackend::pass(TimePoint deadline) noexcept {
  start_pass();
  flush();
  finish_closing();
  top_up_spares();
  harvest();  // sockets that the last pass had no room for
  if (coalescing_.window() > Duration::zero() && received_.empty() && nothing_to_report()) {
    coalesce(deadline);
  }
  bool over = !received_.empty();
  while (!over) {
    const bool idle = nothing_to_report();
    over = wait(idle ? deadline : TimePoint{});
    harvest();
    over = over || !received_.empty() || !nothing_to_report();
  }
  const bool woken = wake_pending_.exchange(false);
  if (coalescing_.enabled()) {
    coalescing_.on_pass(received_.size(), monotonic_now());
    counters_.coalescing_window_ns.set(static_cast<std::uint64_t>(coalescing_.window().count()));
  }
  counters_.passes.add();
  return {received_, events_, woken};
}

void PollBackend::start_pass() noexcept {
  if (owner_ == std::thread::id{}) {
    owner_ = std::this_thread::get_id();
    // Deadlines are met to the microsecond rather than to the default slack of 50 (prctl(2)).
    static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL));
  }
  MGW_ASSERT(owner_ == std::this_thread::get_id());
  behind_ = received_.size() >= kReceivedPerPassMax;
  received_.clear();
  events_.clear();
}

void PollBackend::flush() noexcept {
  std::size_t first = 0;
  while (first < outgoing_.size()) {
    const SocketId socket = outgoing_[first].socket;
    std::size_t end = first + 1;
    while (end < outgoing_.size() && end - first < kSendRunMax && outgoing_[end].socket == socket) {
      ++end;
    }
    const Slot* slot = find(socket);
    std::size_t accepted = slot == nullptr ? first : end;
    if (slot != nullptr && slot->state == SlotState::closing) {
      accepted = std::clamp(slot->close_mark, first, end);
    }
    if (accepted > first) {
      send_run(socket.index, first, accepted - first);
    }
    counters_.send_closed.add(end - accepted);
    first = end;
  }
  outgoing_.clear();
}

void PollBackend::send_run(std::uint32_t index, std::size_t first, std::size_t count) noexcept {
  Slot& slot = slots_[index];
  std::size_t done = 0;
  bool retried = false;
  std::size_t apart_until = 0;  // up to there joining was refused
  int refusal = 0;
  while (done < count) {
    const bool apart = done < apart_until;
    const int sent = send_some(slot, first + done, (apart ? apart_until : count) - done,
                               apart ? 0 : slot.join_limit);
    counters_.system_calls.add();
    if (sent > 0) {
      if (apart && refusal != 0) {
        // Singly it works, so it was the joining.
        slot.join_limit = join_limit_after(std::exchange(refusal, 0), outgoing_[first + done].size);
        counters_.joining_refused.add();
      }
      done += count_sent(sent);
      retried = false;
      continue;
    }
    const int error = errno;
    if (error == EINTR) {
      continue;
    }
    const bool hears_icmp = slot.connected || slot.peer.family() != AddressFamily::none;
    if (hears_icmp && !retried && is_unreachable(error)) {
      // The ICMP error of an earlier datagram: this one was not sent, so it gets its chance now.
      report_error(index, error);
      retried = true;
      continue;
    }
    retried = false;
    const std::size_t failed = send_counts_[0];
    if (failed > 1 && is_joining_refusal(error)) {
      apart_until = done + failed;
      refusal = error;
      continue;
    }
    for (std::size_t i = 0; i < failed; ++i) {
      count_send_error(error);
    }
    done += failed;
  }
}

std::size_t PollBackend::count_sent(int messages) noexcept {
  std::size_t datagrams = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(messages); ++i) {
    datagrams += send_counts_[i];
    if (send_counts_[i] > 1) {
      counters_.joined_sends.add();
      counters_.sent_joined.add(send_counts_[i]);
    }
  }
  counters_.sent.add(datagrams);
  return datagrams;
}

int PollBackend::send_some(const Slot& slot, std::size_t first, std::size_t count,
                           std::uint16_t join_limit) noexcept {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (count == 1) {
    send_counts_[0] = 1;
    const Datagram& datagram = outgoing_[first];
    const ssize_t sent =
        slot.connected || datagram.peer == slot.peer
            ? ::send(slot.descriptor, datagram.buffer.data() + datagram.offset, datagram.size,
                     kFlags)
            : ::sendto(slot.descriptor, datagram.buffer.data() + datagram.offset, datagram.size,
                       kFlags, datagram.peer.kernel_address(), datagram.peer.kernel_size());
    return sent < 0 ? -1 : 1;
  }
  const std::span<const Datagram> queued =
      std::span<const Datagram>(outgoing_).subspan(first, count);
  unsigned messages = 0;
  for (std::size_t place = 0; place < count; ++messages) {
    const std::size_t joined = joinable(queued.subspan(place), join_limit);
    fill_message(send_headers_[messages].msg_hdr, std::span(send_vectors_).subspan(place, joined),
                 send_controls_[messages], queued.subspan(place, joined), slot.connected);
    send_counts_[messages] = static_cast<std::uint8_t>(joined);
    place += joined;
  }
  if (messages == 1) {
    return ::sendmsg(slot.descriptor, &send_headers_[0].msg_hdr, kFlags) < 0 ? -1 : 1;
  }
  return ::sendmmsg(slot.descriptor, send_headers_.data(), messages, kFlags);
}

void PollBackend::finish_closing() noexcept {
  for (const std::uint32_t index : closing_slots_) {
    Slot& slot = slots_[index];
    static_cast<void>(::epoll_ctl(epoll_, EPOLL_CTL_DEL, slot.descriptor, nullptr));
    ::close(slot.descriptor);
    counters_.system_calls.add(2);
    events_.push_back({SocketId{index, slot.generation}, slot.tag, SocketEventKind::closed, 0});
    const std::uint32_t generation = slot.generation + 1;
    slot = Slot{};
    slot.generation = generation;
    unused_slots_.push_back(index);
    --open_sockets_;
  }
  if (!closing_slots_.empty()) {
    counters_.sockets.set(open_sockets_);
    closing_slots_.clear();
  }
}

void PollBackend::arm(std::size_t spare) noexcept {
  receive_vectors_[spare] =
      iovec{spares_[spare].data() + kHeadroomBytes, spares_[spare].capacity() - kHeadroomBytes};
  msghdr& header = receive_headers_[spare].msg_hdr;
  header = msghdr{};
  header.msg_name = &receive_names_[spare];
  header.msg_namelen = sizeof(sockaddr_in6);
  header.msg_iov = &receive_vectors_[spare];
  header.msg_iovlen = 1;
}

void PollBackend::top_up_spares() noexcept {
  while (spares_armed_ < spares_target_) {
    Buffer buffer = pool_.take();
    if (!buffer) {
      break;
    }
    spares_[spares_armed_] = std::move(buffer);
    arm(spares_armed_++);
  }
  if (spares_armed_ > 0) {
    paused_ = false;
  } else if (!paused_) {
    paused_ = true;
    counters_.received_no_buffer.add();
  }
}

void PollBackend::replace_spares(std::size_t used) noexcept {
  std::size_t filled = 0;
  for (; filled < used; ++filled) {
    if (!spares_[filled]) {
      spares_[filled] = pool_.take();
      if (!spares_[filled]) {
        break;
      }
    }
    arm(filled);
  }
  if (filled == used) {
    return;
  }
  // The pool is empty: close the gaps with what is left.
  for (std::size_t i = filled; i < spares_armed_; ++i) {
    if (spares_[i]) {
      std::swap(spares_[filled], spares_[i]);
      arm(filled++);
    }
  }
  spares_armed_ = filled;
}

void PollBackend::coalesce(TimePoint deadline) noexcept {
  const TimePoint until = std::min(coalescing_.earliest_wake_up(), deadline);
  const TimePoint from = monotonic_now();
  if (from < until) {
    wait_for_wake(until);
    counters_.coalescing_waits.add();
    counters_.coalescing_ns.add(static_cast<std::uint64_t>((monotonic_now() - from).count()));
  }
}

bool PollBackend::wait(TimePoint deadline) noexcept {
  if (spares_armed_ == 0) {
    // Looking at the sockets would return at once, again and again. Buffers come back between
    // passes only, as the pool belongs to this thread.
    wait_for_wake(deadline);
    return deadline != kNever && monotonic_now() >= deadline;
  }
  const timespec timeout = deadline == kNever ? timespec{} : remaining(deadline);
  const timespec* limit = deadline == kNever ? nullptr : &timeout;
  const bool blocking = limit == nullptr || timeout.tv_sec != 0 || timeout.tv_nsec != 0;
  int count = -1;
  if (precise_wait_) {
    count = ::epoll_pwait2(epoll_, ready_.data(), static_cast<int>(ready_.size()), limit, nullptr);
    // Not before Linux 5.11; some seccomp filters answer EPERM to calls that they don't know.
    precise_wait_ = count >= 0 || (errno != ENOSYS && errno != EPERM);
  }
  if (!precise_wait_) {
    count = ::epoll_wait(epoll_, ready_.data(), static_cast<int>(ready_.size()),
                         limit == nullptr ? -1 : milliseconds_up(timeout));
  }
  counters_.system_calls.add();
  ready_next_ = 0;
  ready_count_ = count > 0 ? static_cast<std::size_t>(count) : 0;
  // A look without waiting, or a wait that found nothing: the time is over. Otherwise an
  // interruption or a false alarm (wrong checksum) leads to another wait.
  return !blocking || (count == 0 && limit != nullptr);
}

void PollBackend::wait_for_wake(TimePoint deadline) noexcept {
  pollfd wake{wake_event_, POLLIN, 0};
  const timespec timeout = deadline == kNever ? timespec{} : remaining(deadline);
  const int ready = ::ppoll(&wake, 1, deadline == kNever ? nullptr : &timeout, nullptr);
  counters_.system_calls.add();
  if (ready > 0) {
    drain_wake();
  }
}

void PollBackend::drain_wake() noexcept {
  std::uint64_t count = 0;
  static_cast<void>(!::read(wake_event_, &count, sizeof(count)));
  counters_.system_calls.add();
}

void PollBackend::harvest() noexcept {
  split_joined();
  while (ready_next_ < ready_count_ && spares_armed_ > 0 &&
         received_.size() < kReceivedPerPassMax) {
    const std::uint64_t data = ready_[ready_next_++].data.u64;
    const auto index = static_cast<std::uint32_t>(data);
    if (index == kWakeIndex) {
      drain_wake();
    } else if (find(SocketId{index, static_cast<std::uint32_t>(data >> 32U)}) != nullptr) {
      receive_from(index);
    }
  }
}

bool PollBackend::expects_burst(Slot& slot) noexcept {
  // A voice stream has one datagram waiting, and then asking for a second one costs a twentieth of
  // the whole way through the gateway. Sockets that had more last time, or are ready in two passes
  // running, are asked for all, and so is everyone after a full pass.
  const auto pass = static_cast<std::uint32_t>(counters_.passes.value());
  const bool burst = behind_ || slot.burst || slot.ready_in_pass + 1 == pass;
  slot.ready_in_pass = pass;
  return burst;
}

int PollBackend::receive_some(Slot& slot) noexcept {
  counters_.system_calls.add();
  if (!expects_burst(slot)) {
    // With MSG_TRUNC the result is the datagram's own size, and the kernel is spared the reading of
    // a header.
    msghdr& header = receive_headers_[0].msg_hdr;
    const ssize_t size = ::recvfrom(slot.descriptor, receive_vectors_[0].iov_base,
                                    receive_vectors_[0].iov_len, MSG_DONTWAIT | MSG_TRUNC,
                                    static_cast<sockaddr*>(header.msg_name), &header.msg_namelen);
    if (size < 0) {
      return -1;
    }
    receive_headers_[0].msg_len = static_cast<unsigned>(size);
    const bool truncated = static_cast<std::size_t>(size) > receive_vectors_[0].iov_len;
    header.msg_flags = truncated ? MSG_TRUNC : 0;
    return 1;
  }
  const std::size_t room = kReceivedPerPassMax - received_.size();
  const std::size_t wanted = std::min(spares_armed_, room);
  const int count = ::recvmmsg(slot.descriptor, receive_headers_.data(),
                               static_cast<unsigned>(wanted), MSG_DONTWAIT, nullptr);
  slot.burst = count > 1;
  return count;
}

void PollBackend::receive_from(std::uint32_t index) noexcept {
  Slot& slot = slots_[index];
  if (slot.joins_received) {
    receive_joined(index);
    return;
  }
  const int count = receive_some(slot);
  if (count < 0) {
    // EAGAIN: a datagram with a wrong checksum was reported as readable.
    if (errno != EAGAIN && errno != EINTR) {
      report_error(index, errno);
    }
    return;
  }
  const auto used = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < used; ++i) {
    const mmsghdr& header = receive_headers_[i];
    if ((header.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      counters_.received_oversize.add();
      continue;
    }
    // Within the capacity that the constructor reserved.
    Datagram& datagram = received_.emplace_back();
    datagram.buffer = std::move(spares_[i]);
    datagram.offset = kHeadroomBytes;
    datagram.size = header.msg_len;
    datagram.socket = SocketId{index, slot.generation};
    datagram.tag = slot.tag;
    datagram.peer = SocketAddress::from_kernel(&receive_names_[i], header.msg_hdr.msg_namelen);
    counters_.received.add();
  }
  replace_spares(used);
}

void PollBackend::report_error(std::uint32_t index, int error) noexcept {
  const Slot& slot = slots_[index];
  counters_.receive_errors.add();
  events_.push_back(
      {SocketId{index, slot.generation}, slot.tag, SocketEventKind::receive_error, error});
}

}  // namespace io
