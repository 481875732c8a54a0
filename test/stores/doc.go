// Package stores takes a small fleet of processes on each store through the same faults, and judges
// the same promises. What it finds is the table in docs/stores.md, which it writes itself:
//
//	go test ./test/stores -update
//
// goes through every fault of every store, and writes testdata/found.json and the table. With -runs 10
// it goes through each ten times, and -run chooses stores and faults.
// Without -update it goes through the faults that are quick, and compares. BenchmarkStores,
// BenchmarkCustomary and BenchmarkFleets measure all stores in the same way.
package stores
