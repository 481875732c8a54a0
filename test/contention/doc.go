// Package contention tests what many clients ask of one name at once, and what becomes of a request
// whose reply is lost while they do.
package contention
