package containers

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var binaryFile = flag.String("binary", "../../bin/taskrt", "FILE of the program, which is asked whether it takes what the files say")

const k8sNamespace = "shop" // where these tests are

// manifests are what kubectl apply -k would send.
type manifests struct {
	set      *appsv1.StatefulSet
	services map[string]*corev1.Service
	budget   *policyv1.PodDisruptionBudget
}

// render does what kubectl does with a directory. A field that Kubernetes does not know, or that is spelt with other capitals, is an error.
func render(t *testing.T, dir string) manifests {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	m := manifests{services: map[string]*corev1.Service{}}
	for _, one := range all.Resources() {
		text, err := one.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := strict.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", one.CurId(), err)
		}
		switch o := object.(type) {
		case *appsv1.StatefulSet:
			m.set = o
		case *corev1.Service:
			m.services[o.Name] = o
		case *policyv1.PodDisruptionBudget:
			m.budget = o
		default:
			t.Errorf("nobody has looked at %s", one.CurId())
		}
	}
	if m.set == nil || m.budget == nil || len(m.services) != 2 {
		t.Fatalf("%s gives %v", dir, all.AllIds())
	}
	return m
}

// podName is the name that a StatefulSet gives to a pod.
func (m manifests) podName(i int) string { return fmt.Sprintf("%s-%d", m.set.Name, i) }

// host is the name by which the others find a pod.
func (m manifests) host(i int) string {
	return m.podName(i) + "." + m.set.Spec.ServiceName + "." + k8sNamespace + ".svc"
}

// environment is what the kubelet gives to the container of a pod.
func (m manifests) environment(t *testing.T, pod string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, v := range m.set.Spec.Template.Spec.Containers[0].Env {
		value := v.Value
		switch from := v.ValueFrom; {
		case from == nil:
			for name, known := range env { // only what stands before it
				value = strings.ReplaceAll(value, "$("+name+")", known)
			}
			if strings.Contains(value, "$(") {
				t.Errorf("%s=%s names what is not known before it", v.Name, value)
			}
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			value = pod
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			value = k8sNamespace
		default:
			t.Fatalf("%s comes from %v", v.Name, from)
		}
		env[v.Name] = value
	}
	return env
}

// TestKubernetes: what belongs together agrees, and nothing has more rights than it needs. For try/ it holds too, but all pods may be on one machine.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"../kubernetes/cluster", "../kubernetes/try"} {
		m := render(t, dir)
		pod := m.set.Spec.Template
		spec := pod.Spec
		if *m.set.Spec.Replicas != 3 || m.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement || len(spec.Containers) != 1 {
			t.Errorf("%s: %d replicas, %s, %d containers", dir, *m.set.Spec.Replicas, m.set.Spec.PodManagementPolicy, len(spec.Containers))
		}
		if apart := spec.Affinity != nil; apart != (dir == "../kubernetes/cluster") {
			t.Errorf("%s: nodes are kept apart: %v", dir, apart)
		}
		m.checkSelectors(t)
		m.checkPorts(t)
		m.checkRights(t)
		one := spec.Containers[0]
		if one.Image != "taskrt:"+version(t) {
			t.Errorf("%s runs %s; the version is %s", dir, one.Image, version(t))
		}
		if !slices.Equal(one.Args, []string{"server"}) || one.Command != nil {
			t.Errorf("it runs %v %v", one.Command, one.Args)
		}
		if m.budget.Spec.MaxUnavailable == nil || m.budget.Spec.MaxUnavailable.IntValue() != 1 {
			t.Errorf("the budget: %+v", m.budget.Spec)
		}
		join := strings.Split(m.environment(t, "taskrt-0")["TASKRT_JOIN"], ",")
		for i, at := range join {
			if at != m.host(i)+":7170" {
				t.Errorf("the founder %d is called %s", i, at)
			}
		}
		if expect := m.environment(t, "taskrt-0")["TASKRT_BOOTSTRAP_EXPECT"]; expect != fmt.Sprint(len(join)) {
			t.Errorf("%s nodes found the cluster, and %d are named", expect, len(join))
		}
	}
}

func (m manifests) checkSelectors(t *testing.T) {
	t.Helper()
	pod := labels.Set(m.set.Spec.Template.Labels)
	selectors := map[string]labels.Selector{}
	for name, s := range m.services {
		selectors["the service "+name] = labels.SelectorFromSet(s.Spec.Selector)
	}
	of := map[string]*metav1.LabelSelector{"the set": m.set.Spec.Selector, "the budget": m.budget.Spec.Selector}
	if a := m.set.Spec.Template.Spec.Affinity; a != nil {
		of["affinity"] = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector
	}
	for i, c := range m.set.Spec.Template.Spec.TopologySpreadConstraints {
		of[fmt.Sprintf("spread %d", i)] = c.LabelSelector
	}
	for name, s := range of {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		selectors[name] = selector
	}
	for name, s := range selectors {
		if s.Empty() || !s.Matches(pod) {
			t.Errorf("%s selects %s, the pods have %s", name, s, pod)
		}
	}
}

func (m manifests) checkPorts(t *testing.T) {
	t.Helper()
	one := m.set.Spec.Template.Spec.Containers[0]
	ports := map[string]int32{}
	for _, p := range one.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if !maps.Equal(ports, map[string]int32{"http": 7070, "raft": 7170}) {
		t.Errorf("the pod's ports: %v", ports)
	}
	for name, s := range m.services {
		for _, p := range s.Spec.Ports {
			if ports[p.TargetPort.StrVal] != p.Port {
				t.Errorf("the service %s has %s at %d, the pod at %d", name, p.TargetPort.StrVal, p.Port, ports[p.TargetPort.StrVal])
			}
		}
	}
	nodes := m.services[m.set.Spec.ServiceName]
	if nodes == nil || nodes.Spec.ClusterIP != corev1.ClusterIPNone || !nodes.Spec.PublishNotReadyAddresses || len(nodes.Spec.Ports) != 2 {
		t.Errorf("by this the nodes find each other: %+v", nodes)
	}
	if c := m.services["taskrt"]; c == nil || c.Spec.PublishNotReadyAddresses || c.Spec.ClusterIP != "" {
		t.Errorf("by this clients find a node: %+v", c)
	}
	for name, probe := range map[string]*corev1.Probe{"startup": one.StartupProbe, "liveness": one.LivenessProbe, "readiness": one.ReadinessProbe} {
		path := "/healthz"
		if name == "readiness" {
			path = "/readyz"
		}
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != "http" || probe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
			t.Errorf("%s: %+v", name, probe)
		}
	}
	if patience := one.StartupProbe.PeriodSeconds * one.StartupProbe.FailureThreshold; patience < 15*60 {
		t.Errorf("a node has %d s to read its log again", patience)
	}
}

func (m manifests) checkRights(t *testing.T) {
	t.Helper()
	spec := m.set.Spec.Template.Spec
	p, c := spec.SecurityContext, spec.Containers[0].SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser != 65532 || *p.RunAsGroup != 65532 || *p.FSGroup != 65532 || *p.FSGroupChangePolicy != corev1.FSGroupChangeOnRootMismatch ||
		p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod: %+v", p)
	}
	if *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(c.Capabilities.Add) > 0 {
		t.Errorf("the container: %+v", c)
	}
	if *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks {
		t.Error("the pod gets a token, or the variables of services")
	}
	secret := spec.Volumes[0].Secret
	if secret == nil || *secret.DefaultMode != 0o440 {
		t.Errorf("the secret: %+v", spec.Volumes[0])
	}
	mounts := map[string]corev1.VolumeMount{}
	for _, v := range spec.Containers[0].VolumeMounts {
		mounts[v.Name] = v
	}
	file := filepath.Join(mounts[spec.Volumes[0].Name].MountPath, secret.Items[0].Path)
	if env := m.environment(t, "taskrt-0"); env["TASKRT_CLUSTER_SECRET"] != file || mounts[spec.Volumes[0].Name].SubPath != "" {
		t.Errorf("the secret is at %s, and the node looks at %s", file, env["TASKRT_CLUSTER_SECRET"])
	}
	if len(m.set.Spec.VolumeClaimTemplates) != 1 || mounts[m.set.Spec.VolumeClaimTemplates[0].Name].MountPath != "/data" {
		t.Errorf("volumes: %+v at %+v", m.set.Spec.VolumeClaimTemplates, mounts)
	}
}

// TestProgramTakesThem: the program takes each variable that the files set, as `taskrt server --check` finds.
func TestProgramTakesThem(t *testing.T) {
	t.Parallel()
	binary, err := filepath.Abs(*binaryFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("NOTHING IS ASKED: %v (make build)", err)
	}
	told := map[string]map[string]string{}
	m := render(t, "../kubernetes/cluster")
	for i := range int(*m.set.Spec.Replicas) {
		told[m.podName(i)] = m.environment(t, m.podName(i))
	}
	for name, s := range composition(t).Services {
		told[name] = settings(s)
	}
	for name, env := range told {
		if out, err := check(t, binary, env); err != nil || !strings.Contains(out, "node "+name+" may start") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	bad := maps.Clone(told["n1"])
	bad["TASKRT_RAFT_ADVERTISE"] = "n1"
	if out, err := check(t, binary, bad); err == nil || !strings.Contains(out, "raft-advertise") {
		t.Errorf("a bad setting: %v: %s", err, out)
	}
	for name := range told["taskrt-0"] {
		help, err := exec.Command(binary, "server", "--help").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "TASKRT_") && name != "TASKRT_LOG_FORMAT" && !strings.Contains(string(help), name) {
			t.Errorf("%s is no variable of the server", name)
		}
	}
}

// check asks the program about variables, on ports of this machine that are free, with a directory and a secret of this machine.
func check(t *testing.T, binary string, env map[string]string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	secret, err := exec.Command(binary, "secret", "new").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "server", "--check")
	all := maps.Clone(env)
	all["TASKRT_HTTP"], all["TASKRT_RAFT"], all["TASKRT_DIR"], all["TASKRT_CLUSTER_SECRET"] = "0.0.0.0:0", "0.0.0.0:0", filepath.Join(dir, "data"), file
	c.Env = []string{}
	for name, value := range all {
		c.Env = append(c.Env, name+"="+value)
	}
	said, err := c.CombinedOutput()
	return string(said), err
}

// TestKubernetesRuns: containers with what the kubelet would give to three pods found a cluster, answer the probes and do work. One pod more, as
// `kubectl scale` makes it, joins, votes when it is approved, and stays away when it was removed.
func TestKubernetesRuns(t *testing.T) {
	i := openImage(t)
	m := render(t, "../kubernetes/cluster")
	hosts := []string{m.host(0), m.host(1), m.host(2), m.host(3)}
	net := newNetwork(t, hosts...)
	secret, names := newSecret(t, i), net.hostsFile()
	spec := m.set.Spec.Template.Spec
	volumes := map[int]string{}
	up := func(n, time int) *container {
		if volumes[n] == "" {
			volumes[n] = volume(t, true)
		}
		env := m.environment(t, m.podName(n))
		c := newContainer(t, i, fmt.Sprintf("%s-%d", m.podName(n), time), spec.Containers[0].Args, env,
			bind(volumes[n], "/data", "rw"), bind(secret, env["TASKRT_CLUSTER_SECRET"], "ro"), bind(names, "/etc/hosts", "ro"))
		c.plug(net, hosts[n])
		return c.start()
	}
	var pods []*container
	for n := range 3 {
		pods = append(pods, up(n, 1))
	}
	for n := range pods {
		for _, probe := range []*corev1.Probe{spec.Containers[0].StartupProbe, spec.Containers[0].LivenessProbe, spec.Containers[0].ReadinessProbe} {
			probed(t, net.of(hosts[n]), probe)
		}
	}
	reach := []string{"--server", "https://" + hosts[1] + ":7070", "--ca", pods[0].must("secret", "ca", "/etc/taskrt/cluster.secret")}
	pods[0].env = []string{"TASKRT_TOKEN=" + pods[0].must("token", "root", "--cluster-secret", "/etc/taskrt/cluster.secret")}
	do := func(args ...string) string { t.Helper(); return pods[0].must(append(args, reach...)...) }
	give(t, volumes[0], "echo.wasm", "../../testdata/wasm/echo.wasm")
	do("push", "/data/echo.wasm", "--name", "echo")
	do("submit", "echo", "--params", "1", "--wait")

	more := up(3, 1)
	more.until("server", "--health", "ready")
	do("cluster", "approve", m.podName(3))
	more.signal("TERM")
	if code := more.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	do("cluster", "remove", m.podName(3))
	if code := up(3, 2).wait(); code != 8 {
		t.Errorf("a removed node ends with %d", code)
	}
	do("submit", "echo", "--params", "2", "--wait")
}

// plug puts a container into the network.
func (c *container) plug(n *network, host string) {
	for i, ns := range c.spec.Linux.Namespaces {
		if ns.Type == specs.NetworkNamespace {
			c.spec.Linux.Namespaces[i].Path = n.path(host)
		}
	}
}

// probed asks as the kubelet does, until the answer is a good one.
func probed(t *testing.T, namespace string, p *corev1.Probe) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	url := fmt.Sprintf("%s://127.0.0.1:7070%s", strings.ToLower(string(p.HTTPGet.Scheme)), p.HTTPGet.Path)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := exec.CommandContext(ctx, "ip", "netns", "exec", namespace, "curl", "--silent", "--show-error", "--insecure", "--fail", url).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v: %s", url, err, out)
		}
	}
}
