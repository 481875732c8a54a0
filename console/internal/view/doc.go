// Package view has what the pages of the console show: one struct for each page, which JSON, text
// and HTML share.
//
// A page is made by a pure function of a [Snapshot], a query and the time, such as [Jobs]. A
// function such as [ParseJobsQuery] reads a query from a URL; its error joins a [*jobs.Fault] for
// each fault. The query's Values method writes it back, so every link is a query.
//
// In JSON a [Time] is RFC 3339 with milliseconds in UTC, null where there is none. A [Millis] is a
// whole number of milliseconds, in a field whose name ends in _ms. Lists are never null.
package view
