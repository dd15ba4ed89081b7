// Workgroups on several threads, in an order that programs cannot tell from ascending: they are claimed in ascending order, and an
// instruction whose result depends on other workgroups (an atomic, a clock) waits until all earlier ones have ended.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

class Order {
public:
    Order(uint64_t first, uint64_t groups, unsigned threads, uint64_t executed)
        : next(first), groups(groups), failed(groups), counted(first), total(executed), current(threads, groups), counts(groups - first),
          origin(first) {}

    // The next workgroup of a thread, which has ended its last one after `executed` instructions; false: there is none.
    bool claim(unsigned thread, uint64_t *group, uint64_t executed) {
        std::lock_guard<std::mutex> guard(lock);
        if (current[thread] < groups)
            counts[current[thread] - origin] = executed;
        current[thread] = next < std::min(groups, failed) ? next++ : groups;
        *group = current[thread];
        if (waiting)
            turn.notify_all();
        return *group < groups;
    }

    // A workgroup went wrong: later ones stop where they wait, and none is begun.
    void fail(uint64_t group) {
        std::lock_guard<std::mutex> guard(lock);
        failed = std::min(failed, group);
        turn.notify_all();
    }

    uint64_t first_failed() const { return failed; }

    // Until all workgroups before `group` have ended; what they have executed. False: one of them failed.
    bool wait(uint64_t group, uint64_t *executed) {
        std::unique_lock<std::mutex> guard(lock);
        ++waiting;
        turn.wait(guard, [&] { return failed < group || *std::min_element(current.begin(), current.end()) >= group; });
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
    std::mutex lock;
    std::condition_variable turn;
    uint64_t next, groups, failed, counted, total;
    unsigned waiting = 0;
    std::vector<uint64_t> current;    // by thread; `groups`: none
    std::vector<uint64_t> counts;     // instructions, by workgroup
    uint64_t origin;
};
