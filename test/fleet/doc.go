// Package fleet holds tests of fleets of real workers over a real redis-server. Processes are
// killed, frozen and restarted, clocks are wrong, and the output of the jobs themselves is the
// judge.
package fleet
