// Package modules tests that a program outside this tree can import each of its modules. The tests
// make a module proxy of the tree, with all modules at the version that they require of each other,
// and build programs against it.
package modules
