import { Component, type ReactNode } from "react";
import { live } from "../api/live";

/** Catches what keeps a view from being drawn, such as a file of it that could not be loaded, and reloads after reconnecting. */
export class LoadFailed extends Component<{ children: ReactNode }, { why: string }> {
  override state = { why: "" };
  private stop: (() => void) | undefined;

  static getDerivedStateFromError(cause: unknown) {
    return { why: cause instanceof Error ? cause.message : String(cause) };
  }

  override componentDidMount() {
    this.stop = live.onBehind(() => this.state.why && location.reload());
  }

  override componentWillUnmount() {
    this.stop?.();
  }

  override render() {
    if (!this.state.why) return this.props.children;
    return (
      <div className="state error" role="alert">
        <strong>This view could not be shown.</strong> <span>{this.state.why}</span>
        <button type="button" onClick={() => location.reload()}>Reload</button>
      </div>
    );
  }
}
