// The search for frames in a bit stream: from any place, under bit errors, slips, time alignment
// and noise.
#include "rtp/trau_sync.h"

#include "tests/unit/rtp/trau_test_frames.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using rtp::TrauFrame;
using rtp::TrauFrameType;
using rtp::TrauFraming;
using rtp::TrauSync;
using rtp::TrauSyncEvent;
using test::Bits;
using test::Bytes;

/// What a synchroniser made of a stream.
struct Heard {
  std::vector<Bytes> frames;
  std::vector<std::size_t> ends;  // of frames, in bits of the stream
  std::size_t lost = 0;
  std::vector<unsigned> errors;
};

Heard hear(TrauSync& sync, const Bits& stream) {
  Heard heard;
  for (std::size_t at = 0; at < stream.size(); ++at) {
    switch (sync.push(stream[at])) {
      case TrauSyncEvent::none:
        break;
      case TrauSyncEvent::lost:
        ++heard.lost;
        break;
      case TrauSyncEvent::frame: {
        const auto frame = sync.frame();
        heard.frames.emplace_back(frame.begin(), frame.end());
        heard.ends.push_back(at + 1);
        heard.errors.push_back(sync.pattern_errors());
      }
    }
  }
  return heard;
}

void append(Bits& stream, const Bits& bits) {
  stream.insert(stream.end(), bits.begin(), bits.end());
}

Bits random_bits(test::Random& random, std::size_t count) {
  Bits bits;
  while (bits.size() < count) {
    bits.push_back(random.below(2) == 1);
  }
  return bits;
}

Bytes random_built(test::Random& random, TrauFraming framing) {
  if (framing == TrauFraming::amr_8k) {
    const auto mode = static_cast<std::uint8_t>(random.below(5));
    return test::built(test::random_amr_frame(random, mode), framing);
  }
  const auto type = framing == TrauFraming::hr_8k ? TrauFrameType::half_rate
                    : random.below(2) == 1        ? TrauFrameType::full_rate
                                                  : TrauFrameType::enhanced_full_rate;
  return test::built(test::random_frame(random, type, rtp::TrauDirection::uplink), framing);
}

std::vector<Bytes> random_frames(test::Random& random, TrauFraming framing, std::size_t count) {
  std::vector<Bytes> frames;
  while (frames.size() < count) {
    frames.push_back(random_built(random, framing));
  }
  return frames;
}

Bits stream_of(const std::vector<Bytes>& frames) {
  Bits stream;
  for (const Bytes& frame : frames) {
    append(stream, test::to_bits(frame));
  }
  return stream;
}

/// Flips a bit of the pattern of frame `index` of a stream: the second bit of its zeros.
void damage(Bits& stream, TrauFraming framing, std::size_t index) {
  const std::size_t place = index * rtp::trau_frame_bits(framing) + 5;
  stream[place] = !stream[place];
}

constexpr std::array<TrauFraming, 3> kFramings{TrauFraming::trau_16k, TrauFraming::hr_8k,
                                               TrauFraming::amr_8k};

}  // namespace

TEST_CASE("frames are delivered from the first whole one on, wherever the stream begins") {
  test::Random random{1};
  for (const TrauFraming framing : {TrauFraming::trau_16k, TrauFraming::hr_8k}) {
    for (std::size_t skipped = 0; skipped < rtp::trau_frame_bits(framing); skipped += 13) {
      const auto frames = random_frames(random, framing, 6);
      const Bits whole = stream_of(frames);
      const Bits stream(whole.begin() + static_cast<std::ptrdiff_t>(skipped), whole.end());
      TrauSync sync(framing);
      const Heard heard = hear(sync, stream);
      const std::size_t first = skipped == 0 ? 0 : 1;
      CAPTURE(skipped);
      CHECK(heard.frames ==
            std::vector<Bytes>(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end()));
      CHECK(sync.aligned());
    }
  }
}

TEST_CASE("AMR at 8 kbit/s is found too, with frames of all modes mixed") {
  test::Random random{2};
  for (std::size_t skipped = 0; skipped < 160; skipped += 7) {
    const auto frames = random_frames(random, TrauFraming::amr_8k, 30);
    const Bits whole = stream_of(frames);
    TrauSync sync(TrauFraming::amr_8k);
    const Heard heard =
        hear(sync, Bits(whole.begin() + static_cast<std::ptrdiff_t>(skipped), whole.end()));
    REQUIRE(heard.frames.size() >= 25);
    CHECK(std::equal(heard.frames.rbegin(), heard.frames.rend(), frames.rbegin()));
  }
}

TEST_CASE("a stream of 7.40 kbit/s alone is found within five frames") {
  test::Random random{3};
  std::vector<Bytes> frames;
  for (int count = 0; count < 10; ++count) {
    frames.push_back(test::built(test::random_amr_frame(random, 4), TrauFraming::amr_8k));
  }
  Bits stream = random_bits(random, 77);
  append(stream, stream_of(frames));
  TrauSync sync(TrauFraming::amr_8k);
  const Heard heard = hear(sync, stream);
  REQUIRE(heard.frames.size() >= 6);
  CHECK(std::equal(heard.frames.rbegin(), heard.frames.rend(), frames.rbegin()));
}

TEST_CASE("an idle line and noise give no frame") {
  for (const TrauFraming framing : kFramings) {
    TrauSync sync(framing);
    CHECK(hear(sync, Bits(10'000, true)).frames.empty());
    CHECK(hear(sync, Bits(10'000, false)).frames.empty());
    test::Random random{4};
    CHECK(hear(sync, random_bits(random, 200'000)).frames.empty());
    CHECK_FALSE(sync.aligned());
  }
}

TEST_CASE(
    "the bits before the first one count as ones, so that a frame without its beginning is "
    "none") {
  test::Random random{5};
  const Bytes frame = random_built(random, TrauFraming::trau_16k);
  const Bits bits = test::to_bits(frame);
  TrauSync sync(TrauFraming::trau_16k);
  CHECK(hear(sync, Bits(bits.begin() + 1, bits.end())).frames.empty());
}

TEST_CASE("one and two frames in a row with pattern errors are delivered, the third is lost") {
  test::Random random{6};
  for (const TrauFraming framing : {TrauFraming::trau_16k, TrauFraming::hr_8k}) {
    for (std::size_t damaged = 1; damaged <= 3; ++damaged) {
      const auto frames = random_frames(random, framing, 8);
      Bits stream = stream_of(frames);
      for (std::size_t index = 2; index < 2 + damaged; ++index) {
        damage(stream, framing, index);
      }
      TrauSync sync(framing);
      const Heard heard = hear(sync, stream);
      CAPTURE(damaged);
      CHECK(heard.lost == (damaged == 3 ? 1U : 0U));
      CHECK(heard.frames.size() == (damaged == 3 ? 7U : 8U));
      CHECK(heard.errors[2] == 1);
      CHECK(heard.errors[1] == 0);
      CHECK(heard.frames.back() == frames.back());
    }
  }
}

TEST_CASE("errors in two of three frames for ever don't lose the alignment") {
  test::Random random{7};
  for (const TrauFraming framing : kFramings) {
    const auto frames = random_frames(random, framing, 90);
    Bits stream = stream_of(frames);
    for (std::size_t index = 30; index < frames.size(); ++index) {
      if (index % 3 != 0) {
        damage(stream, framing, index);
      }
    }
    TrauSync sync(framing);
    const Heard heard = hear(sync, stream);
    CHECK(heard.lost == 0);
    CHECK(heard.frames.size() >= 85);
  }
}

TEST_CASE("after a slip of any number of bits the frames are found again") {
  test::Random random{8};
  for (const TrauFraming framing : kFramings) {
    for (const std::size_t slip : std::initializer_list<std::size_t>{1, 2, 3, 8, 50, 159}) {
      const auto before = random_frames(random, framing, 10);
      const auto after = random_frames(random, framing, 20);
      Bits stream = stream_of(before);
      append(stream, random_bits(random, slip));
      append(stream, stream_of(after));
      TrauSync sync(framing);
      const Heard heard = hear(sync, stream);
      CAPTURE(slip);
      CHECK(heard.lost <= 1);
      CHECK(sync.aligned());
      const auto tail = static_cast<std::ptrdiff_t>(after.size() - 9);
      REQUIRE(heard.frames.size() > after.size() - 9);
      CHECK(std::equal(after.rbegin(), after.rbegin() + tail, heard.frames.rbegin()));
    }
  }
}

TEST_CASE("with one wrong bit in a thousand nearly all frames are delivered where they are") {
  test::Random random{9};
  for (const TrauFraming framing : kFramings) {
    const auto frames = random_frames(random, framing, 2000);
    Bits stream = stream_of(frames);
    for (std::size_t at = rtp::trau_frame_bits(framing) * 8; at < stream.size(); ++at) {
      if (random.below(1000) == 0) {
        stream[at] = !stream[at];
      }
    }
    TrauSync sync(framing);
    const Heard heard = hear(sync, stream);
    CHECK(heard.frames.size() >= 1980);
    CHECK(heard.frames.size() <= 2000);
    const bool in_place = std::all_of(heard.ends.begin(), heard.ends.end(), [&](std::size_t end) {
      return end % rtp::trau_frame_bits(framing) == 0;
    });
    CHECK(in_place);
  }
}

TEST_CASE("a frame without its last T bits is followed by the next one in time") {
  test::Random random{10};
  for (const TrauFraming framing : {TrauFraming::trau_16k, TrauFraming::hr_8k}) {
    const auto frames = random_frames(random, framing, 9);
    Bits stream;
    for (std::size_t index = 0; index < frames.size(); ++index) {
      Bits bits = test::to_bits(frames[index]);
      if (index == 3 || index == 6) {
        bits.resize(bits.size() - rtp::time_alignment_step_bits(framing));
      }
      append(stream, bits);
    }
    TrauSync sync(framing);
    const Heard heard = hear(sync, stream);
    CHECK(heard.lost == 0);
    REQUIRE(heard.frames.size() == frames.size());
    for (std::size_t index = 0; index < frames.size(); ++index) {
      CHECK(heard.errors[index] == 0);
      if (index != 3 && index != 6) {  // the last bits of those are the next frame's first
        CHECK(heard.frames[index] == frames[index]);
      }
    }
  }
}

TEST_CASE("a frame that is lengthened by ones, up to the most there can be, is followed") {
  test::Random random{11};
  for (const TrauFraming framing : {TrauFraming::trau_16k, TrauFraming::hr_8k}) {
    const std::size_t step = rtp::time_alignment_step_bits(framing);
    const std::size_t steps_max = framing == TrauFraming::trau_16k ? 78 : 36;
    for (std::size_t steps = 1; steps <= steps_max; ++steps) {
      const auto frames = random_frames(random, framing, 6);
      Bits stream;
      for (std::size_t index = 0; index < frames.size(); ++index) {
        append(stream, test::to_bits(frames[index]));
        if (index == 2) {
          append(stream, Bits(steps * step, true));
        }
      }
      TrauSync sync(framing);
      const Heard heard = hear(sync, stream);
      CAPTURE(steps);
      CHECK(heard.lost == 0);
      CHECK(heard.frames == frames);
    }
  }
}

TEST_CASE("a frame that begins with ones by error is given up, the next one is there in time") {
  test::Random random{12};
  const auto frames = random_frames(random, TrauFraming::trau_16k, 6);
  Bits stream = stream_of(frames);
  std::fill_n(stream.begin() + 3 * 320, 4, true);
  TrauSync sync(TrauFraming::trau_16k);
  const Heard heard = hear(sync, stream);
  CHECK(heard.lost == 0);
  std::vector<Bytes> expected = frames;
  expected.erase(expected.begin() + 3);
  CHECK(heard.frames == expected);
}

TEST_CASE("a line that falls idle loses the alignment within three frames' time") {
  test::Random random{13};
  for (const TrauFraming framing : kFramings) {
    TrauSync sync(framing);
    static_cast<void>(hear(sync, stream_of(random_frames(random, framing, 10))));
    REQUIRE(sync.aligned());
    const Heard heard = hear(sync, Bits(rtp::trau_frame_bits(framing) * 3, true));
    CHECK(heard.lost == 1);
    CHECK_FALSE(sync.aligned());
    sync.reset();
    CHECK(hear(sync, Bits(1000, true)).lost == 0);
  }
}
