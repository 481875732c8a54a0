// Package view has what the pages of the console show: one struct for each page, which JSON, text
// and HTML share.
//
// A page is made by a pure function of a [Snapshot], a query and the time, such as [Jobs]. [Parse]
// reads a query from a URL; its error joins a [*jobs.Fault] for each fault. [Values] writes it back,
// so every link is a query. Both follow from one function of the query, which names its parameters.
//
// JSON is what fleet.Marshal writes: a time is RFC 3339 with milliseconds in UTC, null where there is
// none; a duration is a whole number of milliseconds, in a field whose name ends in _ms; lists are
// never null.
package view
