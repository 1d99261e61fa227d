// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <bit>
#include <csetjmp>
#include <cstring>
#include <numeric>
#include <vector>

#include "device_profiles.h"

#if defined(SIMT_ADDRESS_SANITIZER)  // this file itself is not instrumented
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace kvlab::simt {
namespace {

namespace ctx = boost::context;

constexpr size_t kStack = 256 * 1024;

/// Tells the address sanitizer which stack is in use; nothing elsewhere.
struct StackSwitch {
  void* fake = nullptr;
#if defined(SIMT_ADDRESS_SANITIZER)  // this file itself is not instrumented
  void leave(const void* bottom, size_t size) { __sanitizer_start_switch_fiber(&fake, bottom, size); }
  void arrive(const void** bottom, size_t* size) { __sanitizer_finish_switch_fiber(fake, bottom, size); }
  static void leaveForGood(const void* bottom, size_t size) { __sanitizer_start_switch_fiber(nullptr, bottom, size); }
#else
  void leave(const void*, size_t) {}
  void arrive(const void**, size_t*) {}
  static void leaveForGood(const void*, size_t) {}
#endif
};

enum class State : uint8_t { ready, atBarrier, atWarp, done };

/// Thrown through the frames of a thread whose launch has failed.
struct Abandoned {};

struct Copy {
  void* to;
  const void* from;
  unsigned bytes, valid;
};

struct Thread {
  uint3 index{};
  State state = State::done;
  unsigned number = 0;
  Place place;
  WarpOp op = WarpOp::sync;
  uint32_t mask = 0;
  uint64_t brought = 0, received = 0;
  unsigned source = 0;           ///< lane of a shuffle
  std::vector<Copy> copies;      ///< that nothing has waited for
  std::vector<unsigned> groups;  ///< sizes of the committed ones among them, oldest first
  std::jmp_buf begin;            ///< where the thread began
  ctx::fiber fiber;
  const void* bottom = nullptr;
  size_t size = 0;
  StackSwitch stack;
};

uint64_t nextRandom(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

const char* fileName(const Place& place) {
  const char* slash = strrchr(place.file, '/');
  return slash ? slash + 1 : place.file;
}

std::string text(uint3 v) { return std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z); }

}  // namespace

struct BlockRunner::Impl {
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<uint32_t> waiting;  ///< per warp: lanes that wait in a warp operation
  std::vector<unsigned> order;
  std::vector<std::byte> shared = std::vector<std::byte>(kSharedOfAnyBlock + 128);
  const Launch* launch = nullptr;
  Thread* now = nullptr;
  unsigned count = 0, atBarrier = 0, done = 0;
  int predicates = 0, counted = 0;
  Place barrierPlace;
  uint64_t random = 0;
  bool seeded = false, quit = false;
  std::string failure;
  bool misaligned = false;
  ctx::fiber scheduler;
  const void* schedulerBottom = nullptr;
  size_t schedulerSize = 0;
  StackSwitch schedulerStack;

  std::byte* sharedStart() {
    const auto at = reinterpret_cast<uintptr_t>(shared.data());
    return shared.data() + ((at + 127) / 128 * 128 - at);
  }

  ~Impl() {
    quit = true;
    for (auto& t : threads) resume(*t);
  }

  void fail(const std::string& what) {
    if (failure.empty()) failure = launch->name + ", block " + text(blockIdx) + ": " + what;
  }

  [[noreturn]] void stop(const std::string& what) {  // on a fiber
    fail(what);
    throw Abandoned();
  }

  std::string standing(const Thread& t) const {
    const std::string who = "thread " + text(t.index);
    if (t.state == State::done) return who + " has ended";
    return who + " waits at " + (t.state == State::atBarrier ? "the barrier of " : "the warp operation of ") +
        fileName(t.place) + ":" + std::to_string(t.place.line);
  }

  // --- switching ---

  void resume(Thread& t) {
    now = &t;
    threadIdx = t.index;
    schedulerStack.leave(t.bottom, t.size);
    t.fiber = std::move(t.fiber).resume();
    schedulerStack.arrive(nullptr, nullptr);
    now = nullptr;
  }

  /// From a fiber back to the scheduler, until it is resumed.
  void pause(Thread& t) {
    t.stack.leave(schedulerBottom, schedulerSize);
    scheduler = std::move(scheduler).resume();
    t.stack.arrive(&schedulerBottom, &schedulerSize);
  }

  void wait(State state, Place place) {
    Thread& t = *now;
    t.state = state;
    t.place = place;
    pause(t);
    if (!failure.empty()) throw Abandoned();
  }

  /// misalign() comes back here: the compiler's checks may not throw.
  void work(Thread& t) {
    if (setjmp(t.begin) != 0) return;
    try {
      if (failure.empty()) launch->body();
    } catch (const Abandoned&) {
    }
  }

  /// On a fiber, from the midst of a kernel, whose objects have no destructors.
  [[noreturn]] void misalign(const void* at, size_t border, Place place) {
    misaligned = true;
    fail("thread " + text(now->index) + ": misaligned address, " +
         std::to_string(reinterpret_cast<uintptr_t>(at) % border) + " bytes behind a border of " +
         std::to_string(border) + ", " + fileName(place) + ":" + std::to_string(place.line));
    std::longjmp(now->begin, 1);
  }

  ctx::fiber live(Thread& t, ctx::fiber&& from) {
    scheduler = std::move(from);
    t.stack.arrive(&schedulerBottom, &schedulerSize);
    while (!quit) {
      work(t);
      t.copies.clear();
      t.groups.clear();
      t.state = State::done;
      ++done;
      pause(t);
    }
    StackSwitch::leaveForGood(schedulerBottom, schedulerSize);
    return std::move(scheduler);
  }

  void addThread() {
    ctx::protected_fixedsize_stack allocator(kStack);
    ctx::stack_context stack = allocator.allocate();
    // Stacks that start a power of two apart would share their cache lines.
    const size_t shift = threads.size() % 61 * 1088;
    auto t = std::make_unique<Thread>();
    t->number = static_cast<unsigned>(threads.size());
    t->size = stack.size - shift;
    t->bottom = static_cast<std::byte*>(stack.sp) - stack.size;
    ctx::preallocated place(static_cast<std::byte*>(stack.sp) - shift, t->size, stack);
    Thread* raw = t.get();
    t->fiber = ctx::fiber(std::allocator_arg, place, allocator,
                          [this, raw](ctx::fiber&& from) { return live(*raw, std::move(from)); });
    threads.push_back(std::move(t));
  }

  // --- scheduling ---

  void arrange() {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0u);
    for (unsigned i = count; seeded && i > 1; --i) std::swap(order[i - 1], order[nextRandom(random) % i]);
  }

  void startBlock() {
    atBarrier = done = 0;
    predicates = 0;
    waiting.assign((count + kWarp - 1) / kWarp, 0);
    for (unsigned i = 0; i < count; ++i) threads[i]->state = State::ready;
#if defined(SIMT_ADDRESS_SANITIZER)  // this file itself is not instrumented
    ASAN_UNPOISON_MEMORY_REGION(sharedStart(), kSharedOfAnyBlock);
    ASAN_POISON_MEMORY_REGION(sharedStart() + launch->sharedBytes, kSharedOfAnyBlock - launch->sharedBytes);
#endif
    memset(sharedStart(), 0xff, launch->sharedBytes);
    arrange();
  }

  void openBarrier() {
    counted = predicates;
    predicates = 0;
    atBarrier = 0;
    for (unsigned i = 0; i < count; ++i) threads[i]->state = State::ready;
    arrange();
  }

  void sayWhoIsMissing() {
    const Thread *first = nullptr, *other = nullptr;
    for (unsigned i = 0; i < count && !other; ++i) {
      const Thread& t = *threads[i];
      if (!first && t.state != State::done) first = &t;
      else if (first && (t.state != first->state || t.place.line != first->place.line)) other = &t;
    }
    for (unsigned i = 0; i < count && !other; ++i)
      if (threads[i]->state == State::done) other = threads[i].get();
    fail(standing(*first) + ", " + (other ? standing(*other) : "whose mask names lanes that are not there"));
  }

  /// Lets the threads that have not ended unwind.
  void abandon() {
    for (unsigned i = 0; i < count; ++i)
      if (threads[i]->state != State::done) resume(*threads[i]);
  }

  void runBlock() {
    startBlock();
    while (done < count) {
      bool ran = false;
      for (const unsigned i : order) {
        if (threads[i]->state != State::ready) continue;
        ran = true;
        resume(*threads[i]);
        if (!failure.empty()) return abandon();
      }
      if (atBarrier == count) {
        openBarrier();
      } else if (!ran && done < count) {
        sayWhoIsMissing();
        return abandon();
      }
    }
  }

  void runGrid() {
    const uint64_t blocks = uint64_t{gridDim.x} * gridDim.y * gridDim.z;
    uint64_t step = 1, at = 0;
    if (seeded) {
      at = nextRandom(random) % blocks;
      do step = nextRandom(random) % blocks + 1;
      while (std::gcd(step, blocks) != 1);
    }
    for (uint64_t n = 0; n < blocks && failure.empty(); ++n, at = (at + step) % blocks) {
      blockIdx = {static_cast<unsigned>(at % gridDim.x), static_cast<unsigned>(at / gridDim.x % gridDim.y),
                  static_cast<unsigned>(at / gridDim.x / gridDim.y)};
      runBlock();
    }
  }

  template <class Fn>
  void forLanes(unsigned warp, uint32_t mask, const Fn& fn) {
    for (; mask; mask &= mask - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(mask));
      fn(lane, *threads[warp * kWarp + lane]);
    }
  }

  /// All lanes of the mask are here: each gets its own copy of the requested value.
  void closeMeeting(const Thread& last, uint32_t mask) {
    const unsigned warp = last.number / kWarp;
    uint32_t votes = 0;
    forLanes(warp, mask, [&](unsigned lane, Thread& t) {
      if (t.mask != mask || t.op != last.op || t.place.line != last.place.line)
        stop(standing(last) + ", " + standing(t) + ": different operations or masks");
      votes |= static_cast<uint32_t>(t.brought & 1) << lane;
    });
    forLanes(warp, mask, [&](unsigned, Thread& t) {
      if (t.op != WarpOp::shuffle) {
        t.received = votes;
      } else if (t.source < kWarp && (mask >> t.source & 1)) {
        t.received = threads[warp * kWarp + t.source]->brought;
      } else {
        stop(standing(t) + " to read lane " + std::to_string(t.source) + ", which its mask does not name");
      }
    });
    forLanes(warp, mask, [](unsigned, Thread& t) { t.state = State::ready; });
    waiting[warp] &= ~mask;
  }
};

BlockRunner::BlockRunner() : m_impl(std::make_unique<Impl>()) {}
BlockRunner::~BlockRunner() = default;

Fault BlockRunner::run(const Launch& launch, uint64_t seed) {
  Impl& d = *m_impl;
  gridDim = launch.grid;
  blockDim = launch.block;
  d.launch = &launch;
  d.count = launch.block.x * launch.block.y * launch.block.z;
  d.seeded = seed != 0;
  d.random = seed;
  d.failure.clear();
  d.misaligned = false;
  while (d.threads.size() < d.count) d.addThread();
  for (unsigned i = 0; i < d.count; ++i) {
    d.threads[i]->index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
  }
  d.runGrid();
  return {d.failure, d.misaligned};
}

int BlockRunner::barrier(int predicate, Place place) {
  Impl& d = *m_impl;
  if (d.atBarrier == 0) d.barrierPlace = place;
  d.now->state = State::atBarrier;
  d.now->place = place;
  if (place.line != d.barrierPlace.line || strcmp(place.file, d.barrierPlace.file) != 0)
    d.stop(d.standing(*d.now) + ", others wait at line " + std::to_string(d.barrierPlace.line));
  ++d.atBarrier;
  d.predicates += predicate != 0;
  d.wait(State::atBarrier, place);
  return d.counted;
}

uint64_t BlockRunner::meet(WarpOp op, uint32_t mask, uint64_t value, unsigned source, Place place) {
  Impl& d = *m_impl;
  Thread& t = *d.now;
  uint32_t& waiting = d.waiting[t.number / kWarp];
  const uint32_t self = 1u << t.number % kWarp;
  t.op = op;
  t.mask = mask;
  t.brought = value;
  t.source = source;
  t.place = place;
  t.state = State::atWarp;
  waiting |= self;
  if (!(mask & self)) d.stop(d.standing(t) + ", and its own mask does not name it");
  if ((waiting & mask) == mask) {
    d.closeMeeting(t, mask);
  } else {
    d.wait(State::atWarp, place);
  }
  return t.received;
}

void* BlockRunner::dynamicShared() { return m_impl->sharedStart(); }
void BlockRunner::meetStatic(Place place) {
  const size_t dynamic = m_impl->launch->sharedBytes;
  if (dynamic > 0)
    m_impl->stop("static shared memory beside " + std::to_string(dynamic) + " dynamic bytes, " + fileName(place) + ":" +
                 std::to_string(place.line));
}
unsigned BlockRunner::thread() const { return m_impl->now->number; }

void BlockRunner::checkAligned(const void* at, size_t border, Place place) {
  if (m_impl->now && reinterpret_cast<uintptr_t>(at) % border != 0) m_impl->misalign(at, border, place);
}

void BlockRunner::copyAsync(void* to, const void* from, unsigned bytes, unsigned valid, Place place) {
  checkAligned(to, bytes, place);
  checkAligned(from, bytes, place);
  m_impl->now->copies.push_back({to, from, bytes, valid});
}

void BlockRunner::commitCopies() {
  Thread& t = *m_impl->now;
  t.groups.push_back(
      static_cast<unsigned>(t.copies.size() - std::accumulate(t.groups.begin(), t.groups.end(), size_t{0})));
}

void BlockRunner::waitCopies(unsigned groupsLeft) {
  Thread& t = *m_impl->now;
  if (t.groups.size() <= groupsLeft) return;
  const auto closed = t.groups.end() - static_cast<std::ptrdiff_t>(groupsLeft);
  const auto end = t.copies.begin() + std::accumulate(t.groups.begin(), closed, std::ptrdiff_t{0});
  for (auto c = t.copies.begin(); c != end; ++c) {
    memcpy(c->to, c->from, c->valid);
    memset(static_cast<std::byte*>(c->to) + c->valid, 0, c->bytes - c->valid);
  }
  t.copies.erase(t.copies.begin(), end);
  t.groups.erase(t.groups.begin(), closed);
}

}  // namespace kvlab::simt

#if defined(KVLAB_SIMT_ALIGNMENT)
// The compiler's report of a load or store at an address that is not aligned as its type asks (-fsanitize=alignment).
// Code of the host goes on.
struct SimtMismatch {
  const char* file;
  uint32_t line, column;
  const void* type;
  unsigned char borderBits, kind;
};
extern "C" void __ubsan_handle_type_mismatch_v1(const SimtMismatch* what, uintptr_t at) {
  kvlab::simt::blockRunner().checkAligned(reinterpret_cast<const void*>(at), size_t{1} << what->borderBits,
                                          {what->file, static_cast<int>(what->line)});
}
#endif
