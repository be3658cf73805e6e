package static

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// decode reads a document as a type of the API, which has to have all its fields.
func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// The manifest is one by the API's schema, and its parts fit together.
func TestJob(t *testing.T) {
	text, err := os.ReadFile("job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(text, []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%d documents", len(documents))
	}
	var service core.Service
	var job batch.Job
	decode(t, documents[0], &service)
	decode(t, documents[1], &job)
	if service.APIVersion != "v1" || service.Kind != "Service" || job.APIVersion != "batch/v1" || job.Kind != "Job" {
		t.Errorf("kinds %v and %v", service.TypeMeta, job.TypeMeta)
	}
	pod := job.Spec.Template.Spec
	if service.Spec.ClusterIP != core.ClusterIPNone || pod.Subdomain != service.Name || service.Spec.Selector[batch.JobNameLabel] != job.Name {
		t.Error("the service does not give names to the job's pods")
	}
	env := make(map[string]string)
	for _, v := range pod.Containers[0].Env {
		env[v.Name] = v.Value
	}
	size, err := strconv.Atoi(env["AQUEDUCT_SIZE"])
	if err != nil || *job.Spec.CompletionMode != batch.IndexedCompletion || int(*job.Spec.Completions) != size || int(*job.Spec.Parallelism) != size {
		t.Errorf("%s ranks, %d completions, %d at once", env["AQUEDUCT_SIZE"], *job.Spec.Completions, *job.Spec.Parallelism)
	}
	if host, _, err := net.SplitHostPort(env["AQUEDUCT_ROOT"]); err != nil || host != fmt.Sprintf("%s-0.%s", job.Name, service.Name) {
		t.Errorf("rank 0 is not at %s: %v", env["AQUEDUCT_ROOT"], err)
	}
	mount, volume := pod.Containers[0].VolumeMounts[0], pod.Volumes[0]
	if mount.Name != volume.Name || !mount.ReadOnly || volume.Secret == nil || *volume.Secret.DefaultMode != 0o440 || filepath.Dir(env["AQUEDUCT_KEY_FILE"]) != mount.MountPath {
		t.Errorf("the key is not at %s", env["AQUEDUCT_KEY_FILE"])
	}
}

// Each service of the compose file is a rank.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Secrets     []string
		}
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for rank := range len(file.Services) {
		s, ok := file.Services[fmt.Sprint("rank", rank)]
		want := map[string]string{
			"AQUEDUCT_RANK": fmt.Sprint(rank), "AQUEDUCT_SIZE": fmt.Sprint(len(file.Services)), "AQUEDUCT_ROOT": "rank0:7077", "AQUEDUCT_KEY_FILE": "/run/secrets/key",
		}
		for name, value := range want {
			if s.Environment[name] != value {
				t.Errorf("rank %d: %s=%q, want %q", rank, name, s.Environment[name], value)
			}
		}
		if !ok || len(s.Secrets) != 1 || file.Secrets[s.Secrets[0]].File == "" {
			t.Errorf("rank %d has no key", rank)
		}
	}
}
