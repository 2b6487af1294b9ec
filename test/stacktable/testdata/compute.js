// Computes in functions, in JSON and in a regular expression, and never ends.
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) }
function digits(n) { return JSON.parse(JSON.stringify({ n, text: String(fibonacci(n % 20)) })).text.replace(/[0-4]+/g, '') }
function forever() {
  const words = new Map()
  for (let n = 0; ; n++) words.set(digits(n), n)
}
forever()
