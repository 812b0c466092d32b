import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { ChatMessage } from './chat-message.ts';
import type { OfferedTool } from './model.ts';

/** What is asked of a model, as the Chat Completions format has it. */
export const questionOf = (
  model: string,
  messages: readonly ChatMessage[],
  tools: readonly OfferedTool[],
): ChatCompletionCreateParamsNonStreaming => ({
  model,
  messages: messages.map(messageToWire),
  ...(tools.length > 0 && { tools: tools.map(toolToWire) }),
});

function messageToWire(message: ChatMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: message.content };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.toolCalls.length > 0 && {
          tool_calls: message.toolCalls.map((call) => ({
            id: call.id,
            type: 'function' as const,
            function: { name: call.name, arguments: objectText(call.arguments) },
          })),
        }),
      };
  }
}

/**
 * Arguments as every server can read them back: many parse those of earlier turns, and refuse the whole conversation for
 * one call that was no JSON object. What the model wrote stays there for it to see.
 */
function objectText(written: string): string {
  if (written.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(written);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return written;
  } catch {
    // No JSON at all: wrapped like any other text.
  }
  return JSON.stringify({ invalid: written });
}

const toolToWire = ({ name, description, parameters }: OfferedTool) => ({
  type: 'function' as const,
  function: { name, description, parameters: { ...parameters } },
});
