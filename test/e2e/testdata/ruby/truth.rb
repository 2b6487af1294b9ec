# Waits and computes in many kinds of methods and blocks, and prints the stack of each as caller_locations has it.
require "json"

# Functions in C, which have no frame of Ruby. Some are written in Ruby in later releases: then their file is <internal:…>.
IN_C = %w[each map times loop sort_by sort inject new eval instance_eval class_eval catch tap resume next each_slice public_send __send__ require then
  instance_exec first upto each_with_index to_proc call yield initialize fork].freeze
$log = []
$children = []
LOCK = Mutex.new

def begin_stay
  stack = caller_locations(1).reject { |l| !l.path.start_with?("<internal:") && IN_C.include?(l.label) }
  entry = {"TID" => Thread.current.native_thread_id, "Stack" => stack.map { |l| [l.label, l.path, l.lineno] }}
  LOCK.synchronize { $log << entry }
  entry["From"] = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  entry
end

def end_stay(entry)
  entry["To"] = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def waits
  e = begin_stay; sleep(0.003); end_stay(e)
end

def computes
  e = begin_stay; (1..20_000).map(&:to_s).sort; end_stay(e)
end

def both
  waits
  computes
end

def recurse(n, &then_do)
  return then_do.call if n == 0
  recurse(n - 1, &then_do)
end

def in_each(n)
  [1].each do |_|
    n == 0 ? both : in_each(n - 1)
  end
end

class Shape
  include Comparable
  def initialize(n) = @n = n

  def <=>(other)
    both if @n == 1
    1
  end

  define_method(:defined) { |x| both; x }

  def method_missing(name, *args)
    name == :ghost ? both : super
  end

  def respond_to_missing?(*) = true

  def self.made(&b)
    new(1).instance_eval(&b)
  end
end

module Wrap
  def wrapped
    super
  end
end

class Inner
  prepend Wrap
  def wrapped
    both
  end
end

def rescues
  raise ArgumentError, "x"
rescue ArgumentError
  both
ensure
  waits
end

def yields
  yield 1, 2
end

# Many lines, of which the index has several blocks.
eval("def long(a)\n" + (1..400).map { |i| "  a += #{i} * (a % 7)\n" }.join + "  both\n" + (1..200).map { |i| "  a -= #{i}\n" }.join + "  waits\n  a\nend", TOPLEVEL_BINDING, "/made/long.rb", 1)

def everything
  both
  recurse(30) { both }
  in_each(5)
  [3, 1].sort_by { |x| both if x == 1; x }
  [Shape.new(1), Shape.new(2)].sort
  Shape.new(1).defined(2)
  Shape.new(1).ghost
  Shape.made { both }
  Inner.new.wrapped
  rescues
  yields { |a, b| both }
  ->(x) { both }.call(1)
  2.times { both }
  catch(:done) { loop { both; throw :done } }
  eval("both", binding, "/made/of text.rb", 7)
  Fiber.new { both; Fiber.yield; waits }.then { |f| f.resume; f.resume }
  Enumerator.new { |y| both; y << 1 }.first
  %w[both waits].map(&method(:send))
  { a: 1 }.each { |k, v| both }
  long(3)
end

def child_of(n)
  sleep(0.005)
end

def children
  20.times do |n|
    $children << fork { child_of(n); exit!(0) }
  end
  $children.each { |pid| Process.wait(pid) }
end

threads = 2.times.map { Thread.new { 3.times { everything } } }
3.times { everything }
threads.each(&:join)
children
puts JSON.generate("Stays" => $log, "Children" => $children)
