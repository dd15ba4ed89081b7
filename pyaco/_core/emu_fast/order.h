// Workgroups on several threads, in an order that programs cannot tell from ascending: they are claimed in ascending order, and an
// instruction whose result depends on other workgroups (an atomic, a clock) waits until all earlier ones have ended. Neighbours often
// share cache lines of what they write, so a thread claims runs of them, shorter towards the end, and single ones as soon as one has waited.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

class Order {
public:
    Order(uint64_t first, uint64_t groups, unsigned threads, uint64_t executed)
        : next(first), groups(groups), failed(groups), counted(first), total(executed), current(threads), counts(groups - first),
          origin(first) {
        for (Place &place : current)
            place.group = first;      // as if it ran the first one, until it claims
    }

    // The next workgroup of a thread, which has ended its last one after `executed` instructions; false: there is none.
    // Whoever waits sees a thread's place move only after its counts, and at most late.
    bool claim(unsigned thread, uint64_t *group, uint64_t executed) {
        Place &place = current[thread];
        if (place.claimed)
            counts[place.group - origin] = executed;
        if (place.next == place.end) {
            const uint64_t run = run_length();
            place.next = next.fetch_add(run);
            place.end = place.next + run;
        }
        *group = place.next++;
        place.claimed = *group < std::min(groups, failed.load());
        if (!place.claimed)
            *group = groups;
        place.group = *group;
        if (waiting)
            announce();
        return place.claimed;
    }

    // A workgroup went wrong: later ones stop where they wait, and none is begun.
    void fail(uint64_t group) {
        uint64_t before = failed;
        while (group < before && !failed.compare_exchange_weak(before, group)) {
        }
        announce();
    }

    uint64_t first_failed() const { return failed; }

    // Until all workgroups before `group` have ended; what they have executed. False: one of them failed.
    bool wait(uint64_t group, uint64_t *executed) {
        waited = true;
        std::unique_lock<std::mutex> guard(lock);
        ++waiting;
        turn.wait(guard, [&] { return failed < group || all_ended(group); });
        --waiting;
        if (failed < group)
            return false;
        while (counted < group)
            total += counts[counted++ - origin];
        *executed = total;
        return true;
    }

    // `body(data, thread)` on every thread, the caller's is 0.
    static void run(unsigned threads, void (*body)(void *, unsigned), void *data) {
        std::vector<std::thread> others;
        for (unsigned thread = 1; thread < threads; ++thread)
            others.emplace_back(body, data, thread);
        body(data, 0);
        for (std::thread &other : others)
            other.join();
    }

private:
    struct alignas(64) Place {        // a cache line for each thread
        std::atomic<uint64_t> group;  // that runs; `groups`: none any more
        bool claimed = false;
        uint64_t next = 0, end = 0;   // a run of workgroups that are its own
    };

    uint64_t run_length() const {
        const uint64_t left = groups - std::min(groups, next.load());
        return waited ? 1 : std::clamp<uint64_t>(left / (16 * current.size()), 1, 16);
    }

    bool all_ended(uint64_t group) const {
        return std::all_of(current.begin(), current.end(), [&](const Place &place) { return place.group >= group; });
    }

    void announce() {
        std::lock_guard<std::mutex> guard(lock);
        turn.notify_all();
    }

    std::mutex lock;
    std::condition_variable turn;
    std::atomic<uint64_t> next;
    uint64_t groups;
    std::atomic<uint64_t> failed;
    uint64_t counted, total;
    std::atomic<unsigned> waiting{0};
    std::atomic<bool> waited{false};
    std::vector<Place> current;       // by thread
    std::vector<uint64_t> counts;     // instructions, by workgroup
    uint64_t origin;
};
