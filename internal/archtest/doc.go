// Package archtest holds which package of this module may import what. It has nothing but tests.
//
// The rules are two tables in rules_test.go, with the reason beside each. A rule applies to
// packages that do not exist yet as soon as they do. Imports of _test.go files are free.
package archtest
