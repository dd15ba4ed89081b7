// Threads that wait for work, of the whole process: a thread that is made anew often starts a millisecond late, because the scheduler
// puts it where its maker runs; one that wakes up goes back to the processor that it had.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

class Crew {
public:
    typedef void (*Body)(void *, unsigned);

    class Member {
    public:
        // `body(data, number)` on this thread.
        void begin(Body body, void *data, unsigned number) {
            std::lock_guard<std::mutex> guard(lock);
            this->body = body;
            this->data = data;
            this->number = number;
            busy = true;
            turn.notify_all();
        }

        // Until it has returned.
        void finish() {
            watch(false);
            std::unique_lock<std::mutex> guard(lock);
            turn.wait(guard, [&] { return !busy; });
        }

    private:
        friend class Crew;
        static constexpr int patience = 200;  // microseconds

        // What is waited for comes soon as a rule: the end of the others' last workgroups, or the next dispatch. Who sleeps meanwhile runs
        // again 10 to 20 us late, on a processor that has gone to sleep too.
        void watch(bool wanted) const {
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(patience);
            while (busy != wanted && std::chrono::steady_clock::now() < end)
                std::this_thread::yield();
        }

        void live() {
            while (true) {
                watch(true);
                {
                    std::unique_lock<std::mutex> guard(lock);
                    turn.wait(guard, [&] { return busy.load(); });
                }
                body(data, number);
                std::lock_guard<std::mutex> guard(lock);
                busy = false;
                turn.notify_all();
            }
        }

        std::mutex lock;
        std::condition_variable turn;
        Body body = nullptr;
        void *data = nullptr;
        unsigned number = 0;
        std::atomic<bool> busy{false};
    };

    // A thread with nothing to do; NULL: the host lets none start.
    static Member *hire() {
        static std::once_flag once;
        std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget); });
        std::lock_guard<std::mutex> guard(here().lock);
        std::vector<Member *> &idle = here().idle;
        try {
            if (idle.empty())
                idle.push_back(recruit());
        } catch (const std::exception &) {
            return nullptr;
        }
        Member *member = idle.back();
        idle.pop_back();
        return member;
    }

    // It has nothing to do again.
    static void dismiss(Member *member) {
        std::lock_guard<std::mutex> guard(here().lock);
        here().idle.push_back(member);
    }

private:
    // Never freed: threads wait in it when the process ends.
    struct Place {
        std::mutex lock;
        std::vector<Member *> idle;
    };

    static Place *&place() {
        static Place *current = new Place;
        return current;
    }

    static Place &here() { return *place(); }

    // In the child of a fork, which has none of these threads.
    static void forget() { place() = new Place; }

    static Member *recruit() {
        Member *member = new Member;
        try {
            std::thread(enter, member).detach();
        } catch (...) {
            delete member;
            throw;
        }
        return member;
    }

    static void enter(Member *member) {
        sigset_t others;              // signals of the process are the interpreter's
        sigfillset(&others);
        for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
            sigdelset(&others, fault);
        pthread_sigmask(SIG_BLOCK, &others, nullptr);
        member->live();
    }
};
