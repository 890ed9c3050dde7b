#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Perl's interpreter threads: each is a copy of the interpreter.
use strict;
use warnings;
use threads;
use threads::shared;
use Thread::Queue;

my $sum : shared = 0;
my $tasks = Thread::Queue->new;
my $doubles = Thread::Queue->new;

sub work {
	while (defined(my $number = $tasks->dequeue)) {
		{
			lock $sum;
			$sum += $number;
		}
		$doubles->enqueue(2 * $number);
	}
	return 1;
}

my @workers = map { threads->create(\&work) } 1 .. 10;
$tasks->enqueue($_) for 1 .. 1500;
$tasks->end;
my $ended = 0;
$ended += $_->join for @workers;
my $total = 0;
while (defined(my $number = $doubles->dequeue_nb)) {
	$total += $number;
}
print "queue $sum $total $ended\n";

my $open : shared = 0;
sub pass {
	lock $open;
	cond_wait $open while $open < 1;
	$open++;
	cond_signal $open;
	return 1;
}

my @waiting = map { threads->create(\&pass) } 1 .. 10;
{
	lock $open;
	$open = 1;
	cond_broadcast $open;
}
$ended = 0;
$ended += $_->join for @waiting;
print "condition $ended $open\n";
