package main

import (
	"context"
	"encoding/json"
	"errors"

	anthropic "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const prompt = "Well?"

var citySchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string"}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

func askResponses(model string, text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: shared.ResponsesModel(model),
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

func askChat(model string, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    shared.ChatModel(model),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

func askMessages(model string, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     anthropic.Model(model),
		MaxTokens: 500,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

// Session is the result of a session: the fields that the test compares.
type Session struct {
	ID         string   `json:"id"`
	API        string   `json:"api"`
	Text       string   `json:"text"`
	Streamed   string   `json:"streamed"`
	Calls      []string `json:"calls"`
	Answer     string   `json:"answer"`
	Structured string   `json:"structured"`
	Busy       *Failure `json:"busy"`
	Unknown    *Failure `json:"unknown"`
	Cancelled  bool     `json:"cancelled"`
	Tokens     int64    `json:"tokens"`
	Faults     []string `json:"faults"`
}

// Failure is an error as the client types it.
type Failure struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// api has one function per step of a session. Each step is one request, in this order.
type api struct {
	name     string
	text     func(Clients, string) (string, []string, error)
	stream   func(context.Context, Clients, string, context.CancelFunc) (string, []string, error)
	useTools func(Clients, string) ([]string, string, []string, error)
	format   func(Clients, string) (string, []string, error)
	count    func(Clients, string) (int64, error)
}

var apis = []api{
	{"responses", textOfResponses, streamOfResponses, toolsOfResponses, formatOfResponses, countOfResponses},
	{"chat", textOfChat, streamOfChat, toolsOfChat, formatOfChat, nil},
	{"messages", textOfMessages, streamOfMessages, toolsOfMessages, formatOfMessages, countOfMessages},
}

func runSession(clients Clients, api api, model string) Session {
	session := Session{API: api.name, Faults: []string{}}
	note := func(faults []string, err error) {
		session.Faults = append(session.Faults, faults...)
		if err != nil {
			session.Faults = append(session.Faults, err.Error())
		}
	}
	var faults []string
	var err error
	session.Text, faults, err = api.text(clients, model)
	note(faults, err)
	session.Streamed, faults, err = api.stream(context.Background(), clients, model, func() {})
	note(faults, err)
	session.Calls, session.Answer, faults, err = api.useTools(clients, model)
	note(faults, err)
	session.Structured, faults, err = api.format(clients, model)
	note(faults, err)
	_, _, err = api.text(clients, model)
	session.Busy = readFailure(err)
	_, _, err = api.text(clients, "unknown/model")
	session.Unknown = readFailure(err)
	ctx, cancel := context.WithCancel(context.Background())
	_, faults, err = api.stream(ctx, clients, model, cancel)
	session.Cancelled = errors.Is(err, context.Canceled)
	note(faults, nil)
	if api.count != nil {
		session.Tokens, err = api.count(clients, model)
		note(nil, err)
	}
	return session
}

func readFailure(err error) *Failure {
	var vendor *openai.Error
	if errors.As(err, &vendor) {
		return &Failure{vendor.StatusCode, vendor.Code, vendor.Type, vendor.Message}
	}
	var claude *anthropic.Error
	if errors.As(err, &claude) {
		return &Failure{claude.StatusCode, "", string(claude.Type()), claude.RawJSON()}
	}
	return nil
}

func textOfResponses(clients Clients, model string) (string, []string, error) {
	response, err := clients.vendor.Responses.New(context.Background(), askResponses(model, prompt))
	if err != nil {
		return "", nil, err
	}
	return response.OutputText(), checkStrictly(*response), nil
}

func streamOfResponses(ctx context.Context, clients Clients, model string, atText context.CancelFunc) (string, []string, error) {
	stream := clients.vendor.Responses.NewStreaming(ctx, askResponses(model, prompt))
	defer stream.Close()
	text, faults := "", []string{}
	for stream.Next() {
		event := stream.Current()
		faults = append(faults, prefix(event.Type, checkStrictly(event))...)
		if event.Type == "response.output_text.delta" {
			text += event.Delta
			atText()
		}
	}
	return text, faults, stream.Err()
}

// Both calls go back with their results in one request, and everything else as it came.
func toolsOfResponses(clients Clients, model string) ([]string, string, []string, error) {
	ask := askResponses(model, prompt)
	ask.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	ask.Tools = []responses.ToolUnionParam{{
		OfFunction: &responses.FunctionToolParam{Name: "get_weather", Parameters: citySchema, Strict: openai.Bool(true)},
	}}
	response, faults, err := streamResponses(context.Background(), clients, ask)
	if err != nil {
		return nil, "", faults, err
	}
	calls := []string{}
	input := responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage(prompt, responses.EasyInputMessageRoleUser),
	}
	results := responses.ResponseInputParam{}
	for _, item := range response.Output {
		input = append(input, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
		if item.Type == "function_call" {
			call := item.AsFunctionCall()
			calls = append(calls, call.Name+call.Arguments)
			result := map[string]string{"type": "function_call_output", "call_id": call.CallID, "output": "sunny"}
			results = append(results, param.Override[responses.ResponseInputItemUnionParam](result))
		}
	}
	ask.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: append(input, results...)}
	second, err := clients.vendor.Responses.New(context.Background(), ask)
	if err != nil {
		return calls, "", faults, err
	}
	return calls, second.OutputText(), append(faults, checkStrictly(*second)...), nil
}

func formatOfResponses(clients Clients, model string) (string, []string, error) {
	ask := askResponses(model, prompt)
	format := responses.ResponseFormatTextJSONSchemaConfigParam{Name: "city", Schema: citySchema, Strict: openai.Bool(true)}
	ask.Text.Format = responses.ResponseFormatTextConfigUnionParam{OfJSONSchema: &format}
	response, err := clients.vendor.Responses.New(context.Background(), ask)
	if err != nil {
		return "", nil, err
	}
	return response.OutputText(), checkStrictly(*response), nil
}

func countOfResponses(clients Clients, model string) (int64, error) {
	var count struct {
		InputTokens int64 `json:"input_tokens"`
	}
	err := clients.vendor.Post(context.Background(), "responses/input_tokens", askResponses(model, prompt), &count)
	return count.InputTokens, err
}

func textOfChat(clients Clients, model string) (string, []string, error) {
	return completeChat(clients, askChat(model, prompt))
}

func completeChat(clients Clients, ask openai.ChatCompletionNewParams) (string, []string, error) {
	completion, err := clients.vendor.Chat.Completions.New(context.Background(), ask)
	if err != nil {
		return "", nil, err
	}
	return completion.Choices[0].Message.Content, checkStrictly(*completion), nil
}

func streamOfChat(ctx context.Context, clients Clients, model string, atText context.CancelFunc) (string, []string, error) {
	stream := clients.vendor.Chat.Completions.NewStreaming(ctx, askChat(model, prompt))
	defer stream.Close()
	text, faults := "", []string{}
	for stream.Next() {
		chunk := stream.Current()
		faults = append(faults, prefix("chunk", checkStrictly(chunk))...)
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			text += chunk.Choices[0].Delta.Content
			atText()
		}
	}
	return text, faults, stream.Err()
}

func toolsOfChat(clients Clients, model string) ([]string, string, []string, error) {
	ask := askChat(model, prompt)
	ask.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: citySchema}),
	}
	completion, faults, err := streamChat(context.Background(), clients, ask)
	if err != nil {
		return nil, "", faults, err
	}
	message := completion.Choices[0].Message
	ask.Messages = append(ask.Messages, message.ToParam())
	calls := []string{}
	for _, call := range message.ToolCalls {
		calls = append(calls, call.Function.Name+call.Function.Arguments)
		ask.Messages = append(ask.Messages, openai.ToolMessage("sunny", call.ID))
	}
	answer, more, err := completeChat(clients, ask)
	return calls, answer, append(faults, more...), err
}

func formatOfChat(clients Clients, model string) (string, []string, error) {
	ask := askChat(model, prompt)
	ask.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
		OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "city", Schema: citySchema, Strict: openai.Bool(true),
		}},
	}
	return completeChat(clients, ask)
}

func textOfMessages(clients Clients, model string) (string, []string, error) {
	return completeMessages(clients, askMessages(model, prompt))
}

func completeMessages(clients Clients, ask anthropic.MessageNewParams) (string, []string, error) {
	message, err := clients.claude.Messages.New(context.Background(), ask)
	if err != nil {
		return "", nil, err
	}
	text := ""
	for _, block := range message.Content {
		if block.Type == "text" {
			text += block.Text
		}
	}
	return text, checkStrictly(*message), nil
}

func streamOfMessages(ctx context.Context, clients Clients, model string, atText context.CancelFunc) (string, []string, error) {
	stream := clients.claude.Messages.NewStreaming(ctx, askMessages(model, prompt))
	defer stream.Close()
	text, faults := "", []string{}
	for stream.Next() {
		event := stream.Current()
		faults = append(faults, prefix(event.Type, checkStrictly(event))...)
		if event.Delta.Text != "" {
			text += event.Delta.Text
			atText()
		}
	}
	return text, faults, stream.Err()
}

func toolsOfMessages(clients Clients, model string) ([]string, string, []string, error) {
	ask := askMessages(model, prompt)
	schema := anthropic.ToolInputSchemaParam{Properties: citySchema["properties"], Required: []string{"city"}}
	ask.Tools = []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(schema, "get_weather")}
	message, faults, err := streamMessages(context.Background(), clients, ask)
	if err != nil {
		return nil, "", faults, err
	}
	faults = append(faults, prefix("accumulated", checkStrictly(*message))...)
	calls := []string{}
	results := []anthropic.ContentBlockParamUnion{}
	for _, block := range message.Content {
		if block.Type == "tool_use" {
			calls = append(calls, block.Name+string(block.Input))
			results = append(results, anthropic.NewToolResultBlock(block.ID, "sunny", false))
		}
	}
	ask.Messages = append(ask.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
	answer, more, err := completeMessages(clients, ask)
	return calls, answer, append(faults, more...), err
}

func formatOfMessages(clients Clients, model string) (string, []string, error) {
	ask := askMessages(model, prompt)
	ask.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: citySchema}
	return completeMessages(clients, ask)
}

func countOfMessages(clients Clients, model string) (int64, error) {
	ask := askMessages(model, prompt)
	count, err := clients.claude.Messages.CountTokens(context.Background(), anthropic.MessageCountTokensParams{
		Model: ask.Model, Messages: ask.Messages,
	})
	if err != nil {
		return 0, err
	}
	return count.InputTokens, nil
}

// embed returns the lengths of two vectors and their usage.
func embed(clients Clients, model string) map[string]any {
	embeddings, err := clients.vendor.Embeddings.New(context.Background(), openai.EmbeddingNewParams{
		Model: model,
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a red fox", "a blue bird"}},
	})
	if err != nil {
		return map[string]any{"faults": []string{err.Error()}}
	}
	return map[string]any{"vectors": len(embeddings.Data), "faults": checkStrictly(*embeddings)}
}
