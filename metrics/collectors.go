package metrics

import "github.com/prometheus/client_golang/prometheus"

// collectors are those of one Metrics or Locks. One without labels has its series from the start.
type collectors []prometheus.Collector

func (s *collectors) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	*s = append(*s, c)
	return c
}

func (s *collectors) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	*s = append(*s, g)
	return g
}

func (s *collectors) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	*s = append(*s, h)
	return h
}

// Describe implements [prometheus.Collector].
func (s *collectors) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range *s {
		c.Describe(descs)
	}
}

// Collect implements [prometheus.Collector].
func (s *collectors) Collect(series chan<- prometheus.Metric) {
	for _, c := range *s {
		c.Collect(series)
	}
}
