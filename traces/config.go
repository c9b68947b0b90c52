package traces

import (
	"fmt"
	"os"
	"strings"
)

// The variables of OpenTelemetry's specification that this package reads itself. Its library reads the others.
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envDisabled       = "OTEL_SDK_DISABLED"
)

const overHTTP = "http/protobuf"

// wanted reports whether the environment names a collector.
func wanted() (bool, error) {
	if os.Getenv(envEndpoint) == "" && os.Getenv(envTracesEndpoint) == "" || strings.EqualFold(os.Getenv(envDisabled), "true") {
		return false, nil
	}
	switch e := os.Getenv(envExporter); e {
	case "none":
		return false, nil
	case "", "otlp":
	default:
		return false, fmt.Errorf("%s is %q: there is otlp, or none", envExporter, e)
	}
	for _, name := range [...]string{envTracesProtocol, envProtocol} {
		if p := os.Getenv(name); p != "" && p != overHTTP {
			return false, fmt.Errorf("%s is %q: only %s is spoken", name, p, overHTTP)
		} else if p != "" {
			break
		}
	}
	return true, nil
}
