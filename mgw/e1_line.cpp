#include "mgw/e1_line.h"

#include "io/assert.h"
#include "mgw/e1_leg.h"
#include "mgw/media_path.h"

#include <algorithm>
#include <utility>

namespace mgw {

E1Line::E1Line(std::unique_ptr<E1Driver> driver, std::shared_ptr<E1LineStatus> status,
               io::TimePoint now) noexcept
    : driver_(std::move(driver)),
      status_(std::move(status)),
      next_due_(driver_->idle_interval() > io::Duration::zero() ? now : io::kNever) {}

io::TimePoint E1Line::next_idle(io::TimePoint now) const noexcept {
  const io::Duration interval = driver_->idle_interval();
  return interval > io::Duration::zero() ? now + interval : io::kNever;
}

void E1Line::set_open_timeslots(std::size_t count) noexcept {
  open_timeslots_ = count;
  status_->open_timeslots.set(count);
}

void E1Line::attach(std::uint8_t timeslot, E1Leg& leg, std::uint32_t slot,
                    io::TimePoint now) noexcept {
  Timeslot& place = timeslots_[timeslot];
  MGW_ASSERT(place.leg_count < place.legs.size());
  if (open_timeslots_ == 0) {
    next_due_ = now + driver_->interval();
  }
  if (place.leg_count == 0) {
    set_open_timeslots(open_timeslots_ + 1);
    driver_->open(timeslot);
  }
  place.legs[place.leg_count++] = {&leg, slot};
}

void E1Line::detach(std::uint8_t timeslot, const E1Leg& leg) noexcept {
  Timeslot& place = timeslots_[timeslot];
  const auto end = place.legs.begin() + static_cast<std::ptrdiff_t>(place.leg_count);
  const auto found = std::find_if(place.legs.begin(), end,
                                  [&leg](const Attached& one) { return one.leg == &leg; });
  if (found == end) {
    return;
  }
  *found = place.legs[--place.leg_count];
  if (place.leg_count == 0) {
    driver_->close(timeslot);
    set_open_timeslots(open_timeslots_ - 1);
  }
}

void E1Line::receive(MediaPath& path, io::Datagram& /*datagram*/, io::TimePoint /*now*/) noexcept {
  path.drop(DropCause::closed_connection);  // it has no sockets
}

void E1Line::run(MediaPath& path, io::TimePoint now) noexcept {
  if (open_timeslots_ == 0) {
    driver_->poll(now);
    next_due_ = next_idle(now);
    return;
  }
  for (int round = 0; next_due_ <= now && round < kBlocksPerRunMax; ++round) {
    driver_->poll(now);
    for (std::uint8_t number = 1; number < kE1Timeslots; ++number) {
      if (timeslots_[number].leg_count > 0) {
        run_timeslot(path, number, now);
      }
    }
    next_due_ += driver_->interval();
  }
  if (next_due_ <= now) {
    next_due_ = now + driver_->interval();  // the rest of a long stall is not made up for
  }
}

void E1Line::run_timeslot(MediaPath& path, std::uint8_t number, io::TimePoint now) noexcept {
  const Timeslot& timeslot = timeslots_[number];
  E1Block received;
  for (int i = 0; i < kBlocksPerRunMax && driver_->receive(number, received); ++i) {
    E1Block sent;
    sent.fill(rtp::kIdleOctet);
    for (const Attached& one : std::span(timeslot.legs).first(timeslot.leg_count)) {
      MediaConnection* connection = path.find(one.slot);
      MGW_ASSERT(connection != nullptr);  // detached() comes before it goes
      one.leg->exchange({path, *connection, one.slot, now}, received, sent);
    }
    driver_->transmit(number, sent);
  }
}

}  // namespace mgw
