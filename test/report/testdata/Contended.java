// SPDX-License-Identifier: Apache-2.0
// Two threads that compute under one monitor for 1.8 s, after which the JVM writes its perf map. Prints "blocked SECONDS", which is how long
// the JVM says that they waited for the monitor, and "cpu SECONDS" of both.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import javax.management.ObjectName;

public class Contended implements Runnable {
    private static final Object monitor = new Object();
    private static volatile boolean isDone;
    static volatile long result;

    public static void main(String[] arguments) throws Exception {
        ThreadMXBean beans = ManagementFactory.getThreadMXBean();
        beans.setThreadContentionMonitoringEnabled(true);
        Thread[] threads = {new Thread(new Contended(), "contender-1"), new Thread(new Contended(), "contender-2")};
        for (Thread t : threads)
            t.start();
        Thread.sleep(1800);
        long blocked = 0, cpu = 0;
        for (Thread t : threads) {
            blocked += beans.getThreadInfo(t.getId()).getBlockedTime();
            cpu += beans.getThreadCpuTime(t.getId());
        }
        isDone = true;
        System.out.println("blocked " + blocked / 1e3);
        System.out.println("cpu " + cpu / 1e9);
        ManagementFactory.getPlatformMBeanServer().invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), "compilerPerfmap", null, null);
    }

    public void run() {
        while (!isDone) {
            synchronized (monitor) {
                result += multiply(5_000_000);
            }
        }
    }

    static long multiply(int times) {
        long n = 1;
        for (int i = 0; i < times; i++)
            n = n * 31 + i % 7;
        return n;
    }
}
