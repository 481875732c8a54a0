// Package view has what the pages of the console show: one struct for each page, which JSON, text and
// HTML share.
//
// A page is made by a pure function of a [Snapshot], a query and the time, such as [Jobs]. A query is
// read from a URL by a function such as [ParseJobsQuery], whose error joins a [*jobs.Fault] for
// each fault, and is written back by its Values method, so that every link is a query.
//
// In JSON a [Time] is RFC 3339 with milliseconds in UTC, null where there is none; a [Millis] is a
// whole number of milliseconds, in a field whose name ends in _ms. Lists are never null.
package view
