// Package guards tests the fences against real databases: PostgreSQL, MariaDB and SQLite. It is a
// module of its own, so that nobody who embeds Solotick inherits their drivers, and has nothing but
// tests.
//
// The servers are started by the tests, in directories of their own, and are reached by sockets
// there. `make deps` installs them; where it could not, because the packages are not to be had, the
// tests of that database are skipped and say so.
package guards
