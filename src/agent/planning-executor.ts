import { z } from 'zod';
import type { RunLimits } from '../config/config.ts';
import { parseArguments } from '../confirmation/arguments.ts';
import { CountersignError } from '../errors.ts';
import { askModel } from './ask-model.ts';
import type { ChatMessage } from './chat-message.ts';
import { answerWithheld } from './cut-answer.ts';
import { type Executor, failedRun, type RunWork } from './executor.ts';
import type { Model } from './model.ts';
import type { PlanNode } from './plan.ts';
import { planBody, planNodes } from './plan-body.ts';
import { PROPOSE_PLAN, proposePlanTool } from './plan-proposal.ts';
import { limitBeforeModel } from './run-limits.ts';
import type { RunEnd } from './run-record.ts';
import type { SpokenPiece } from './spoken-answer.ts';

type AssistantMessage = Extract<ChatMessage, { role: 'assistant' }>;

/** How often a model may try to give a plan that can run. */
const MOST_PROPOSALS = 3;

/**
 * Asks the model for a plan, once, and works through that. The plan is checked exactly as a given one; one that cannot
 * run goes back with what is wrong with it. Every step is decided by the last message on record: after a restart, no
 * answer is paid for twice, and a plan that is stored is never asked for again.
 */
export class PlanningExecutor implements Executor {
  readonly #model: Model;
  readonly #limits: RunLimits;
  readonly #opening: () => Promise<readonly ChatMessage[]>;
  readonly #faultOf: (plan: readonly PlanNode[]) => string | null;
  readonly #executorOf: (plan: readonly PlanNode[]) => Executor;

  constructor(input: {
    readonly model: Model;
    readonly limits: RunLimits;
    readonly opening: () => Promise<readonly ChatMessage[]>;
    /** What is wrong with a plan, in words that name the node. */
    readonly faultOf: (plan: readonly PlanNode[]) => string | null;
    readonly executorOf: (plan: readonly PlanNode[]) => Executor;
  }) {
    this.#model = input.model;
    this.#limits = input.limits;
    this.#opening = input.opening;
    this.#faultOf = input.faultOf;
    this.#executorOf = input.executorOf;
  }

  async run(work: RunWork): Promise<RunEnd> {
    const planned = await this.#plan(work);
    return 'plan' in planned ? this.#executorOf(planned.plan).run(work) : planned;
  }

  async #plan(work: RunWork): Promise<{ readonly plan: readonly PlanNode[] } | RunEnd> {
    const messages = [...work.progress.messages];
    const append = async (added: readonly ChatMessage[], spoken: SpokenPiece | null = null) => {
      await work.keep(added, spoken);
      messages.push(...added);
    };
    if (messages.length === 0) await append(await this.#opening());
    for (;;) {
      const last = messages.at(-1);
      if (last?.role === 'assistant') {
        if (last.cut === 'filter') return answerWithheld();
        const proposal = this.#read(last);
        if (proposal.kind === 'plan') {
          await work.record.planned(proposal.plan);
          return { plan: proposal.plan };
        }
        const proposals = messages.filter(({ role }) => role === 'assistant').length;
        if (proposals >= MOST_PROPOSALS) {
          const what = `The model gave no plan that can run, in ${MOST_PROPOSALS} attempts. The last time:`;
          return failedRun('no_plan', `${what} ${proposal.message}`);
        }
        await append(answersTo(last, proposal.message));
      }
      const limit = await limitBeforeModel(messages, this.#limits, work.record);
      if (limit !== null) return limit;
      const tools = [proposePlanTool];
      const answer = await askModel({ model: this.#model, messages, tools, work });
      if (answer.kind === 'failed') return failedRun('model_failed', answer.message);
      await append([answer.message], answer.spoken);
    }
  }

  #read(message: AssistantMessage): Proposal {
    if (message.cut !== undefined) return unusable('Your answer was cut off. Propose a shorter plan.');
    const [call, second] = message.toolCalls;
    if (second !== undefined) return unusable('Propose one plan, in one call.');
    if (call !== undefined && call.name !== PROPOSE_PLAN) {
      return unusable(`Nothing runs while you plan: call ${PROPOSE_PLAN} with the whole plan.`);
    }
    const text = call?.arguments ?? message.content?.replace(FENCE, '$1');
    if (text === undefined) return unusable(`Call ${PROPOSE_PLAN} with the plan.`);
    const parsed = parseArguments(text);
    if (parsed.kind === 'refused') return unusable(`This is no plan: ${parsed.message}`);
    return this.#check(parsed.value);
  }

  #check(body: unknown): Proposal {
    const shaped = planBody.safeParse(body);
    if (!shaped.success) return unusable(z.prettifyError(shaped.error).slice(0, 1_000));
    try {
      const plan = planNodes(shaped.data);
      const fault = this.#faultOf(plan);
      return fault === null ? { kind: 'plan', plan } : unusable(fault);
    } catch (error) {
      if (error instanceof CountersignError) return unusable(error.message);
      throw error;
    }
  }
}

type Proposal =
  | { readonly kind: 'plan'; readonly plan: readonly PlanNode[] }
  | { readonly kind: 'unusable'; readonly message: string };

const unusable = (message: string): Proposal => ({ kind: 'unusable', message });

/** Models that answer in words wrap their JSON in a code block. */
const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/;

/** What is wrong, as the answer to each call of the turn, or in words where there was none. */
function answersTo(message: AssistantMessage, fault: string): readonly ChatMessage[] {
  const content = JSON.stringify({ status: 'invalid_plan', message: fault });
  if (message.toolCalls.length === 0) return [{ role: 'user', content }];
  return message.toolCalls.map(({ id }) => ({ role: 'tool', callId: id, content }));
}
