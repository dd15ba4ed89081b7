// Workgroups on several threads, in an order that programs cannot tell from ascending: they are claimed in ascending order, and an
// instruction whose result depends on other workgroups (an atomic, a clock) waits until all earlier ones have ended. Neighbours
// often write to the same cache lines, so a thread claims runs of them, shorter towards the end, and single ones once any has waited.
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

#include "thread_pool.h"

class Order {
public:
    // From workgroup `first` on, which thread 0 runs already, after `executed` instructions of those before it, and until `budget`
    // instructions have been executed. NULL: no memory.
    static Order *open(uint64_t first, uint64_t groups, unsigned threads, uint64_t executed, uint64_t budget) {
        // calloc: pages of workgroups that are never reached are not touched
        uint64_t *counts = static_cast<uint64_t *>(std::calloc(groups - first, sizeof(uint64_t)));
        try {
            return counts == nullptr ? nullptr : new Order(first, groups, threads, executed, budget, counts);
        } catch (const std::bad_alloc &) {
            std::free(counts);
            return nullptr;
        }
    }

    // Claim the next workgroup for a thread, which has ended its last one after `executed` instructions; false: there is none.
    // A waiting thread sees the progress of another only after its counts, and possibly late.
    bool claim(unsigned thread, uint64_t *group, uint64_t executed) {
        Progress &progress = current[thread];
        if (progress.claimed) {
            counts[progress.group - origin] = executed;
            progress.executed = progress.executed + executed;
        }
        const bool checks_budget = progress.next == progress.end || progress.next % budget_interval == 0;
        if (checks_budget && is_over_budget()) {
            progress.next = groups;
            progress.end = groups + 1;
        } else if (progress.next == progress.end) {
            const uint64_t run = run_length();
            progress.next = next.fetch_add(run);
            progress.end = progress.next + run;
        }
        *group = progress.next++;
        progress.claimed = *group < std::min(groups, failed.load());
        if (!progress.claimed)
            *group = groups;
        progress.group = *group;
        if (waiting)
            announce();
        return progress.claimed;
    }

    // A workgroup failed: later ones stop where they wait, and no other is started.
    void fail(uint64_t group) {
        uint64_t before = failed;
        while (group < before && !failed.compare_exchange_weak(before, group)) {
        }
        announce();
    }

    uint64_t first_failed() const { return failed; }

    // Wait until all workgroups before `group` have ended, and add up what they have executed. False: one of them failed.
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

    // Run `body(data, thread)` on other threads than the caller's, which is 0; on as many as the host can start.
    void start(void (*body)(void *, unsigned), void *data) {
        for (unsigned thread = 1; thread < current.size(); ++thread) {
            ThreadPool::Thread *other = ThreadPool::acquire();
            if (other == nullptr) {
                current[thread].group = groups;
                continue;
            }
            others.push_back(other);
            other->begin(body, data, thread);
        }
    }

    // Wait until the other threads have returned.
    void join() {
        for (ThreadPool::Thread *other : others) {
            other->finish();
            ThreadPool::release(other);
        }
    }

private:
    struct Free {
        void operator()(uint64_t *memory) const { std::free(memory); }
    };

    Order(uint64_t first, uint64_t groups, unsigned threads, uint64_t executed, uint64_t budget, uint64_t *counts)
        : next(first + 1), groups(groups), failed(groups), counted(first), total(executed), budget(budget), current(threads), origin(first) {
        others.reserve(threads);
        for (Progress &progress : current)
            progress.group = first;   // as if it ran the first one, until it claims
        current[0].claimed = true;
        current[0].executed = executed;
        this->counts.reset(counts);
    }

    struct alignas(64) Progress {     // a cache line for each thread
        std::atomic<uint64_t> group;  // that runs; `groups`: the thread has finished
        std::atomic<uint64_t> executed{0};  // instructions, of workgroups that have ended
        bool claimed = false;
        uint64_t next = 0, end = 0;   // workgroups that it has claimed
    };

    static const uint64_t budget_interval = 16;    // workgroups between checks of the budget, which read the counts of all threads

    uint64_t run_length() const {
        const uint64_t left = groups - std::min(groups, next.load());
        return waited ? 1 : std::clamp<uint64_t>(left / (16 * current.size()), 1, 64);
    }

    bool is_over_budget() const {
        uint64_t sum = 0;
        for (const Progress &progress : current)
            sum += progress.executed;
        return sum > budget;
    }

    bool all_ended(uint64_t group) const {
        return std::all_of(current.begin(), current.end(), [&](const Progress &progress) { return progress.group >= group; });
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
    std::vector<Progress> current;    // by thread
    std::unique_ptr<uint64_t[], Free> counts;  // instructions, by workgroup from `origin` on
    uint64_t origin;
    std::vector<ThreadPool::Thread *> others;
};
