package main

import (
	"fmt"
	"reflect"
	"strings"
)

// field is what both clients know about a field of an answer: "" if it is missing.
type field interface {
	Raw() string
	Valid() bool
}

// checkStrictly returns what an answer lacks: required fields, and values of the types of the client. The clients leave
// both out silently.
func checkStrictly(value any) []string {
	faults := []string{}
	visit(reflect.ValueOf(value), "", &faults)
	return faults
}

func visit(value reflect.Value, path string, faults *[]string) {
	switch value.Kind() {
	case reflect.Slice:
		for index := range value.Len() {
			visit(value.Index(index), fmt.Sprintf("%s[%d]", path, index), faults)
		}
	case reflect.Interface, reflect.Pointer:
		visit(value.Elem(), path, faults)
	case reflect.Struct:
		if variant, isUnion := readVariant(value); isUnion {
			if !variant.IsValid() || variant.IsNil() {
				*faults = append(*faults, path+" is of no known type")
			} else {
				visit(variant.Elem(), path, faults)
			}
			return
		}
		visitFields(value, path, faults)
	}
}

// readVariant returns the value of a union: its method AsAny returns nil if its type is unknown.
func readVariant(value reflect.Value) (reflect.Value, bool) {
	if value.Kind() != reflect.Struct || !strings.HasSuffix(value.Type().Name(), "Union") {
		return reflect.Value{}, false
	}
	method := value.MethodByName("AsAny")
	if !method.IsValid() {
		return reflect.Value{}, false
	}
	return method.Call(nil)[0], true
}

func visitFields(value reflect.Value, path string, faults *[]string) {
	states := value.FieldByName("JSON")
	if !states.IsValid() || states.Kind() != reflect.Struct {
		return
	}
	for index := range value.NumField() {
		declared := value.Type().Field(index)
		state := states.FieldByName(declared.Name)
		if declared.Name == "JSON" || !declared.IsExported() || !state.IsValid() {
			continue
		}
		found, isField := state.Interface().(field)
		if !isField {
			continue
		}
		name, options, _ := strings.Cut(declared.Tag.Get("json"), ",")
		at := path + "." + name
		isRequired := strings.Contains(options+","+declared.Tag.Get("api"), "required") || declared.Tag.Get("default") != ""
		switch raw := found.Raw(); {
		case raw == "" && isRequired:
			*faults = append(*faults, at+" is missing")
		case raw != "" && raw != "null" && !found.Valid():
			*faults = append(*faults, fmt.Sprintf("%s is %.80s", at, raw))
		case found.Valid():
			visit(value.Field(index), at, faults)
		}
	}
}
