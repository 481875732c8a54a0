// Package driver has the contract of stores: a [Store] keeps small values, and changes them by
// compare-and-set at one instant of its own clock.
//
// A driver knows no rules of leases. To make a store of your own, implement [Store] and give it to
// lease.NewStore. Then run the cases of package drivertest, which test the driver, and those of
// package leasetest, which test the store that is made of it. A driver that can read and write a
// value as a whole while nobody else does has little to write: [Item] carries out the operations.
// A driver that implements [Index], too, can keep the schedules of jobs.
// [Memory] is the smallest example, and examples/customstore keeps values in files.
package driver
