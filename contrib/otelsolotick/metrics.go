package otelsolotick

import (
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// Producer hands what collectors export for Prometheus, such as a [metrics.Metrics] of
// [github.com/solotick/solotick/metrics], to OpenTelemetry: give it to a reader by
// sdkmetric.WithProducer. It reads them each time that the reader collects. The error is that of a
// collector which cannot be registered beside the others.
func Producer(collectors ...prometheus.Collector) (sdkmetric.Producer, error) {
	registry := prometheus.NewRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return bridge.NewMetricProducer(bridge.WithGatherer(registry)), nil
}
