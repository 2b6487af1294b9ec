// SPDX-License-Identifier: Apache-2.0
// Threads that contend for one monitor; each prints for how long it waited for it, without the time in which it waited for a CPU.
import java.io.RandomAccessFile;

public class Locks {
	static final Object monitor = new Object();
	static final String[] results = new String[4];

	static long delay(RandomAccessFile schedstat) throws Exception {
		schedstat.seek(0);
		return Long.parseLong(schedstat.readLine().split(" ")[1]);
	}

	public static void main(String[] args) throws Exception {
		Thread[] threads = new Thread[4];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> contend(), String.valueOf(i));
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
		for (String r : results)
			System.out.println(r);
	}

	// both returns the time and the delay without having lost the CPU in between.
	static long[] both(RandomAccessFile schedstat) throws Exception {
		for (;;) {
			long delayed = delay(schedstat), now = System.nanoTime();
			if (delay(schedstat) == delayed)
				return new long[] { now, delayed };
		}
	}

	static void contend() {
		long total = 0, waits = 0, longest = 0;
		try (RandomAccessFile schedstat = new RandomAccessFile("/proc/thread-self/schedstat", "r")) {
			for (int i = 0; i < 60; i++) {
				long[] before = both(schedstat);
				synchronized (monitor) {
					long[] after = both(schedstat);
					long ns = after[0] - before[0] - (after[1] - before[1]);
					if (ns >= 50000) {
						waits++;
						total += ns;
						longest = Math.max(longest, ns);
					}
					Thread.sleep(5);
				}
			}
		} catch (Exception e) {
			throw new RuntimeException(e);
		}
		results[Integer.parseInt(Thread.currentThread().getName())] = "lock - waits " + waits + " total " + total + " longest " + longest;
	}
}
