// Package spans makes a span of each attempt of a tick, for the worker and for the module
// otelsolotick, which says what is in them. No library package imports it: who does not trace links
// nothing of OpenTelemetry.
package spans
