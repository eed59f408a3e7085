package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	anthropic "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

type call struct {
	name string
	read func(Clients, string) ([]string, error)
}

var errMismatch = errors.New("the accumulator does not accept a chunk")

var calls = []call{
	{"responses", func(clients Clients, model string) ([]string, error) {
		response, err := clients.vendor.Responses.New(context.Background(), askResponses(model, "Hello"))
		if err != nil {
			return nil, err
		}
		return checkStrictly(*response), nil
	}},
	{"responses_streamed", func(clients Clients, model string) ([]string, error) {
		_, faults, err := streamResponses(context.Background(), clients, askResponses(model, "Hello"))
		return faults, err
	}},
	{"chat", func(clients Clients, model string) ([]string, error) {
		completion, err := clients.vendor.Chat.Completions.New(context.Background(), askChat(model, "Hello"))
		if err != nil {
			return nil, err
		}
		return checkStrictly(*completion), nil
	}},
	{"chat_streamed", func(clients Clients, model string) ([]string, error) {
		_, faults, err := streamChat(context.Background(), clients, askChat(model, "Hello"))
		return faults, err
	}},
	{"messages", func(clients Clients, model string) ([]string, error) {
		message, err := clients.claude.Messages.New(context.Background(), askMessages(model, "Hello"))
		if err != nil {
			return nil, err
		}
		return checkStrictly(*message), nil
	}},
	{"messages_streamed", func(clients Clients, model string) ([]string, error) {
		_, faults, err := streamMessages(context.Background(), clients, askMessages(model, "Hello"))
		return faults, err
	}},
}

func streamResponses(ctx context.Context, clients Clients, ask responses.ResponseNewParams) (*responses.Response, []string, error) {
	var faults []string
	var last *responses.Response
	stream := clients.vendor.Responses.NewStreaming(ctx, ask)
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		faults = append(faults, prefix(event.Type, checkStrictly(event))...)
		if event.Type == "response.completed" || event.Type == "response.incomplete" || event.Type == "response.failed" {
			last = &event.Response
		}
	}
	if stream.Err() == nil && last == nil {
		return nil, faults, errors.New("the stream has no last event")
	}
	return last, faults, stream.Err()
}

func streamChat(ctx context.Context, clients Clients, ask openai.ChatCompletionNewParams) (*openai.ChatCompletion, []string, error) {
	var faults []string
	whole := openai.ChatCompletionAccumulator{}
	ask.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := clients.vendor.Chat.Completions.NewStreaming(ctx, ask)
	defer stream.Close()
	for stream.Next() {
		chunk := stream.Current()
		faults = append(faults, prefix("chunk", checkStrictly(chunk))...)
		if !whole.AddChunk(chunk) {
			return nil, faults, errMismatch
		}
	}
	return &whole.ChatCompletion, faults, stream.Err()
}

func streamMessages(ctx context.Context, clients Clients, ask anthropic.MessageNewParams) (*anthropic.Message, []string, error) {
	var faults []string
	whole := anthropic.Message{}
	stream := clients.claude.Messages.NewStreaming(ctx, ask)
	defer stream.Close()
	for stream.Next() {
		event := stream.Current()
		faults = append(faults, prefix(event.Type, checkStrictly(event))...)
		if err := whole.Accumulate(event); err != nil {
			return nil, faults, fmt.Errorf("%w: %w", errMismatch, err)
		}
	}
	return &whole, faults, stream.Err()
}

func prefix(name string, faults []string) []string {
	for index, fault := range faults {
		faults[index] = name + fault
	}
	return faults
}

// isUnderstood returns whether an error is one of the API, or the error event of a stream.
func isUnderstood(err error) bool {
	var vendor *openai.Error
	var claude *anthropic.Error
	return errors.As(err, &vendor) || errors.As(err, &claude) ||
		(!errors.Is(err, errMismatch) && strings.Contains(err.Error(), "received error while streaming"))
}

// readRecordings prints each answer that a client cannot read completely, and the number of answers.
func readRecordings(clients Clients, models []string) {
	type task struct {
		call
		model string
	}
	tasks := make(chan task)
	var workers sync.WaitGroup
	for range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for each := range tasks {
				faults, err := each.read(clients, each.model)
				if err != nil && !isUnderstood(err) {
					faults = append(faults, err.Error())
				}
				for _, fault := range faults {
					report(map[string]string{"model": each.model, "call": each.name, "fault": fault})
				}
			}
		}()
	}
	for _, model := range models {
		for _, each := range calls {
			tasks <- task{each, model}
		}
	}
	close(tasks)
	workers.Wait()
	report(map[string]int{"answers": len(models) * len(calls)})
}
