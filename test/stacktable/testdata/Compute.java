import java.util.TreeMap;

/** Computes in methods that the compiler keeps and in those that it inlines, and never ends. */
class Compute {
    static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

    static String digits(int n) { return Integer.toString(n % 1000) + fibonacci(n % 20); }

    public static void main(String[] args) {
        var words = new TreeMap<String, Integer>();
        for (int n = 0; ; n = (n + 1) % 1000000)
            words.merge(digits(n), 1, Integer::sum);
    }
}
