package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskrt/taskrt/metrics/table"
)

// described is a metric of the table, as the library wants it.
type described struct {
	table.Metric
	desc *prometheus.Desc
}

var descs = func() map[string]described {
	all := map[string]described{}
	for name, m := range table.All() {
		all[name] = described{m, prometheus.NewDesc(name, m.Help(), m.Labels, nil)}
	}
	return all
}()

func counterOpts(name string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Name: name, Help: descs[name].Help()}
}

func counterVec(name string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(counterOpts(name), descs[name].Labels)
}

func gaugeVec(name string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: descs[name].Help()}, descs[name].Labels)
}

func histogramVec(name string, buckets ...float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: descs[name].Help(), Buckets: buckets}, descs[name].Labels)
}
