// Package fleet holds tests of fleets of real workers over a real redis-server: processes are killed, frozen and
// restarted, clocks are wrong, and what the jobs themselves wrote is the judge.
package fleet
