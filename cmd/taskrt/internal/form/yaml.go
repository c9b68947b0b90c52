package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is JSON as a document of YAML, with the members in their order. next says that another document stands before it.
func document(answer []byte, next bool) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	node, err := nodeOf(d)
	if errors.Is(err, io.EOF) { // an answer without content
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if next {
		out.WriteString("---\n")
	}
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(node); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// nodeOf reads the next value.
func nodeOf(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		return collection(d, v)
	case string:
		return text(v), nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}, nil
	case bool:
		if v {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: "true"}, nil
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "false"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
}

// collection reads an object or a list behind its first brace. In an object names and values take turns, as in a node of YAML.
func collection(d *json.Decoder, first json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if first == '[' {
		n.Kind = yaml.SequenceNode
	}
	for d.More() {
		next, err := nodeOf(d)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, next)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := d.Token() // the last brace
	return n, err
}

// plain are texts that need no quotes. mistaken are texts that some reader of YAML takes for something else.
var (
	plain    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	mistaken = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	switch {
	case plain.MatchString(s) && !slices.Contains(mistaken, strings.ToLower(s)):
		n.Style = 0
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	}
	return n
}
