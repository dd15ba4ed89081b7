// Idle threads of the whole process: a new thread often starts a millisecond late, because the scheduler puts it on the processor of the
// thread that made it; one that wakes up goes back to the processor it had.
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

class ThreadPool {
public:
    typedef void (*Body)(void *, unsigned);

    class Thread {
    public:
        // Run `body(data, number)` on this thread.
        void begin(Body body, void *data, unsigned number) {
            std::lock_guard<std::mutex> guard(lock);
            this->body = body;
            this->data = data;
            this->number = number;
            busy = true;
            turn.notify_all();
        }

        // Wait until it has returned.
        void finish() {
            spin_until(false);
            std::unique_lock<std::mutex> guard(lock);
            turn.wait(guard, [&] { return !busy; });
        }

    private:
        friend class ThreadPool;
        static constexpr int spin_microseconds = 200;

        // The wait is usually short: for the end of the others' last workgroups, or the next dispatch. A thread that sleeps meanwhile runs
        // again 10 to 20 us late, on a processor that has gone to sleep too.
        void spin_until(bool wanted) const {
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(spin_microseconds);
            while (busy != wanted && std::chrono::steady_clock::now() < end)
                std::this_thread::yield();
        }

        void run_loop() {
            while (true) {
                spin_until(true);
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

    // An idle thread; NULL: the host cannot start one.
    static Thread *acquire() {
        static std::once_flag once;
        std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget); });
        std::lock_guard<std::mutex> guard(here().lock);
        std::vector<Thread *> &idle = here().idle;
        try {
            if (idle.empty())
                idle.push_back(spawn());
        } catch (const std::exception &) {
            return nullptr;
        }
        Thread *thread = idle.back();
        idle.pop_back();
        return thread;
    }

    // Make a thread idle again.
    static void release(Thread *thread) {
        std::lock_guard<std::mutex> guard(here().lock);
        here().idle.push_back(thread);
    }

private:
    // Never freed: threads wait in it when the process ends.
    struct IdleThreads {
        std::mutex lock;
        std::vector<Thread *> idle;
    };

    static IdleThreads *&current() {
        static IdleThreads *current = new IdleThreads;
        return current;
    }

    static IdleThreads &here() { return *current(); }

    // In the child of a fork, which has none of these threads.
    static void forget() { current() = new IdleThreads; }

    static Thread *spawn() {
        Thread *thread = new Thread;
        try {
            std::thread(enter, thread).detach();
        } catch (...) {
            delete thread;
            throw;
        }
        return thread;
    }

    static void enter(Thread *thread) {
        sigset_t others;              // signals are handled by the interpreter's threads
        sigfillset(&others);
        for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
            sigdelset(&others, fault);
        pthread_sigmask(SIG_BLOCK, &others, nullptr);
        thread->run_loop();
    }
};
