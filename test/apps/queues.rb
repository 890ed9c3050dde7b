#!/usr/bin/ruby
# SPDX-License-Identifier: MIT
# Ruby's threads, and what stops them: timeouts, kill, fork.
require 'timeout'

tasks = Queue.new
squares = Queue.new
workers = Array.new(10) do
  Thread.new do
    while (number = tasks.pop) != :end
      squares << number * number
    end
  end
end
3000.times { |number| tasks << number }
10.times { tasks << :end }
workers.each(&:join)
puts "queue #{Array.new(squares.size) { squares.pop }.sum}"

lock = Mutex.new
all_here = ConditionVariable.new
here = 0
meeting = Array.new(20) do
  Thread.new do
    lock.synchronize do
      here += 1
      all_here.broadcast if here == 20
      all_here.wait(lock) while here < 20
    end
    sleep 0.01
  end
end
meeting.each(&:join)
puts "meeting #{here}"

products = Array.new(4) do |n|
  Thread.new { (1..30_000).reduce { |a, b| (a * b + n) % 1_000_003 } }
end
puts "products #{products.map(&:value)}"

reader, writer = IO.pipe
all = Thread.new { reader.read }
5.times do
  writer.puts 'line'
  sleep 0.005
end
writer.close
puts "pipe #{all.value.lines.size}"

pid = fork do
  Thread.new { sleep 0.01 }.join
  exit! 3
end
Process.wait pid
puts "child #{$?.exitstatus} #{`echo another`.strip}"

begin
  Timeout.timeout(0.05) { sleep }
rescue Timeout::Error
  puts 'timeout'
end

killed = Thread.new do
  sleep
ensure
  puts 'killed'
end
sleep 0.001 until killed.status == 'sleep'
killed.kill
killed.join
