// Workgroups on several threads, in an order that programs cannot tell from ascending: they are claimed in ascending order, and an
// instruction whose result depends on other workgroups (an atomic, a clock) waits until all earlier ones have ended. Neighbours often
// share cache lines of what they write, so a thread claims runs of them, shorter towards the end, and single ones as soon as one has waited.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "crew.h"

class Order {
public:
    // From workgroup `first` on, which thread 0 runs already, after `executed` instructions of those before it, and until `budget`
    // instructions have been executed. NULL: no memory.
    static Order *open(uint64_t first, uint64_t groups, unsigned threads, uint64_t executed, uint64_t budget) {
        // calloc: pages of workgroups that nobody gets to are never touched
        uint64_t *counts = static_cast<uint64_t *>(std::calloc(groups - first, sizeof(uint64_t)));
        try {
            return counts == nullptr ? nullptr : new Order(first, groups, threads, executed, budget, counts);
        } catch (const std::bad_alloc &) {
            std::free(counts);
            return nullptr;
        }
    }

    // The next workgroup of a thread, which has ended its last one after `executed` instructions; false: there is none.
    // Whoever waits sees a thread's place move only after its counts, and at most late.
    bool claim(unsigned thread, uint64_t *group, uint64_t executed) {
        Place &place = current[thread];
        if (place.claimed) {
            counts[place.group - origin] = executed;
            place.executed = place.executed + executed;
        }
        const bool looks = place.next == place.end || place.next % between_looks == 0;
        if (looks && is_over_budget()) {
            place.next = groups;
            place.end = groups + 1;
        } else if (place.next == place.end) {
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

    // `body(data, thread)` on threads beside the caller's, which is 0; as many as the host lets start.
    void start(void (*body)(void *, unsigned), void *data) {
        for (unsigned thread = 1; thread < current.size(); ++thread) {
            Crew::Member *member = Crew::hire();
            if (member == nullptr) {
                current[thread].group = groups;
                continue;
            }
            others.push_back(member);
            member->begin(body, data, thread);
        }
    }

    // Until the other threads have returned.
    void join() {
        for (Crew::Member *other : others) {
            other->finish();
            Crew::dismiss(other);
        }
    }

private:
    struct Free {
        void operator()(uint64_t *memory) const { std::free(memory); }
    };

    Order(uint64_t first, uint64_t groups, unsigned threads, uint64_t executed, uint64_t budget, uint64_t *counts)
        : next(first + 1), groups(groups), failed(groups), counted(first), total(executed), budget(budget), current(threads), origin(first) {
        others.reserve(threads);
        for (Place &place : current)
            place.group = first;      // as if it ran the first one, until it claims
        current[0].claimed = true;
        current[0].executed = executed;
        this->counts.reset(counts);
    }

    struct alignas(64) Place {        // a cache line for each thread
        std::atomic<uint64_t> group;  // that runs; `groups`: none any more
        std::atomic<uint64_t> executed{0};  // instructions, of workgroups that have ended
        bool claimed = false;
        uint64_t next = 0, end = 0;   // a run of workgroups that are its own
    };

    static const uint64_t between_looks = 16;     // at the budget, in workgroups: the counts of all threads are read for it

    uint64_t run_length() const {
        const uint64_t left = groups - std::min(groups, next.load());
        return waited ? 1 : std::clamp<uint64_t>(left / (16 * current.size()), 1, 64);
    }

    bool is_over_budget() const {
        uint64_t sum = 0;
        for (const Place &place : current)
            sum += place.executed;
        return sum > budget;
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
    uint64_t counted, total, budget;
    std::atomic<unsigned> waiting{0};
    std::atomic<bool> waited{false};
    std::vector<Place> current;       // by thread
    std::unique_ptr<uint64_t[], Free> counts;  // instructions, by workgroup from `origin` on
    uint64_t origin;
    std::vector<Crew::Member *> others;
};
