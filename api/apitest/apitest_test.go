package apitest_test

import (
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInProcess(t *testing.T) {
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		return f
	})
}

func TestOverHTTP(t *testing.T) {
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		return apitest.OverHTTP(t, f)
	})
}

func TestOverHTTPDeadNodeFirst(t *testing.T) {
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		dead := httptest.NewServer(nil)
		dead.Close()
		return apitest.OverHTTP(t, f, dead.URL)
	})
}
