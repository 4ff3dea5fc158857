-- What Instruments recorded of the GPU and of the machine, from the tables of `xctrace export`.
-- All times are integer nanoseconds since the recording began, which is the beginning of this pass.
-- The rows of metal-gpu-intervals are in `kernels` (kind metal); what only Metal knows of them is here.

CREATE TABLE instruments_recordings (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, recording INTEGER, target_pid BIGINT,
    target_process VARCHAR, target_status VARCHAR, device_model VARCHAR, os_version VARCHAR, template VARCHAR,
    instruments_version VARCHAR, recording_mode VARCHAR, end_reason VARCHAR, start_unix_ns BIGINT, dur_ns BIGINT,
    counter_set VARCHAR, shader_timeline VARCHAR, clock_method VARCHAR NOT NULL, clock_uncertainty_ns BIGINT,
    start_uptime_ns BIGINT, pass_start_ns BIGINT
);
COMMENT ON TABLE instruments_recordings IS 'One recording of Instruments, as its table of contents (TOC) tells, and how its clock is joined to the pass.';
COMMENT ON COLUMN instruments_recordings.run_id IS 'Run.';
COMMENT ON COLUMN instruments_recordings.pass IS 'Pass.';
COMMENT ON COLUMN instruments_recordings.rank IS 'Rank.';
COMMENT ON COLUMN instruments_recordings.recording IS 'Number of the recording in its trace file (Instruments calls it run).';
COMMENT ON COLUMN instruments_recordings.target_pid IS 'Process that was recorded; NULL where no TOC tells.';
COMMENT ON COLUMN instruments_recordings.target_process IS 'Name of that process.';
COMMENT ON COLUMN instruments_recordings.target_status IS 'How it ended: exit status and reason.';
COMMENT ON COLUMN instruments_recordings.device_model IS 'Model of the machine.';
COMMENT ON COLUMN instruments_recordings.os_version IS 'Operating system of the machine.';
COMMENT ON COLUMN instruments_recordings.template IS 'Template of Instruments.';
COMMENT ON COLUMN instruments_recordings.instruments_version IS 'Version of Instruments.';
COMMENT ON COLUMN instruments_recordings.recording_mode IS 'Deferred, Immediate or Windowed.';
COMMENT ON COLUMN instruments_recordings.end_reason IS 'Why the recording ended.';
COMMENT ON COLUMN instruments_recordings.start_unix_ns IS 'Begin of the recording by the TOC, nanoseconds since 1970 UTC; it is written to the millisecond.';
COMMENT ON COLUMN instruments_recordings.dur_ns IS 'Length of the recording by the TOC.';
COMMENT ON COLUMN instruments_recordings.counter_set IS 'Counter set by the TOC; (null) means that no limiter counters were recorded.';
COMMENT ON COLUMN instruments_recordings.shader_timeline IS 'Shader timeline by the TOC (Enabled or Disabled).';
COMMENT ON COLUMN instruments_recordings.clock_method IS 'How recording and pass are on one clock: time_info, signpost, toc_start_date, or none.';
COMMENT ON COLUMN instruments_recordings.clock_uncertainty_ns IS 'The most by which that join may be off, either way; NULL when there is none.';
COMMENT ON COLUMN instruments_recordings.start_uptime_ns IS 'Begin of the recording on the clock of mach_absolute_time; NULL when not joined.';
COMMENT ON COLUMN instruments_recordings.pass_start_ns IS 'When the pass began, on the clock of the recording; NULL when not joined or no pass is known.';

CREATE TABLE metal_gpu_intervals (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, kernel_id BIGINT NOT NULL, pid BIGINT,
    process VARCHAR, channel VARCHAR, state VARCHAR, start_latency_ns BIGINT, event_depth INTEGER, frame_number BIGINT,
    cmdbuffer_id UBIGINT, encoder_id UBIGINT, gpu_submission_id UBIGINT, channel_subtitle VARCHAR,
    iosurface_accesses VARCHAR
);
COMMENT ON TABLE metal_gpu_intervals IS 'What Metal tells of a GPU interval beside its row in kernels. Rows overlap and nest: busy time is their union.';
COMMENT ON COLUMN metal_gpu_intervals.run_id IS 'Run.';
COMMENT ON COLUMN metal_gpu_intervals.pass IS 'Pass.';
COMMENT ON COLUMN metal_gpu_intervals.rank IS 'Rank.';
COMMENT ON COLUMN metal_gpu_intervals.kernel_id IS 'Its row in kernels.';
COMMENT ON COLUMN metal_gpu_intervals.pid IS 'Process it ran for; NULL where Metal does not attribute it.';
COMMENT ON COLUMN metal_gpu_intervals.process IS 'Name of that process with its pid.';
COMMENT ON COLUMN metal_gpu_intervals.channel IS 'Compute, Vertex, Fragment, ... Blit commands stand on Compute.';
COMMENT ON COLUMN metal_gpu_intervals.state IS 'State of the GPU in it: Active wherever seen.';
COMMENT ON COLUMN metal_gpu_intervals.start_latency_ns IS 'Time from the hand-over by the CPU to the begin on the GPU: queueing, not a stall of the host.';
COMMENT ON COLUMN metal_gpu_intervals.event_depth IS 'Depth among nested rows, from 0.';
COMMENT ON COLUMN metal_gpu_intervals.frame_number IS 'Frame; NULL outside frames.';
COMMENT ON COLUMN metal_gpu_intervals.cmdbuffer_id IS 'Command buffer; 0 where not attributed.';
COMMENT ON COLUMN metal_gpu_intervals.encoder_id IS 'Encoder; with cmdbuffer_id it joins metal_encoders. One encoder may have several rows.';
COMMENT ON COLUMN metal_gpu_intervals.gpu_submission_id IS 'Submission to the GPU.';
COMMENT ON COLUMN metal_gpu_intervals.channel_subtitle IS 'Subtitle of the channel, where there is one.';
COMMENT ON COLUMN metal_gpu_intervals.iosurface_accesses IS 'Surfaces read and written.';

CREATE TABLE metal_gpu_states (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, start_ns BIGINT NOT NULL, dur_ns BIGINT NOT NULL,
    state VARCHAR NOT NULL, label VARCHAR, channels BIGINT, device VARCHAR
);
COMMENT ON TABLE metal_gpu_states IS 'Active and idle time of the GPU, over all processes of the machine.';
COMMENT ON COLUMN metal_gpu_states.run_id IS 'Run.';
COMMENT ON COLUMN metal_gpu_states.pass IS 'Pass.';
COMMENT ON COLUMN metal_gpu_states.rank IS 'Rank.';
COMMENT ON COLUMN metal_gpu_states.start_ns IS 'Begin.';
COMMENT ON COLUMN metal_gpu_states.dur_ns IS 'Duration.';
COMMENT ON COLUMN metal_gpu_states.state IS 'Active or Idle.';
COMMENT ON COLUMN metal_gpu_states.label IS 'As Instruments shows it.';
COMMENT ON COLUMN metal_gpu_states.channels IS 'Channels active at once.';
COMMENT ON COLUMN metal_gpu_states.device IS 'GPU.';

CREATE TABLE metal_encoders (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, start_ns BIGINT NOT NULL, dur_ns BIGINT NOT NULL,
    pid BIGINT, process VARCHAR, tid BIGINT, thread VARCHAR, device VARCHAR, frame_number BIGINT, cmdbuffer_label VARCHAR,
    encoder_label VARCHAR, event_type VARCHAR, cmdbuffer_id UBIGINT, encoder_id UBIGINT
);
COMMENT ON TABLE metal_encoders IS 'CPU time in which the application encoded work for the GPU, an encoder a row.';
COMMENT ON COLUMN metal_encoders.run_id IS 'Run.';
COMMENT ON COLUMN metal_encoders.pass IS 'Pass.';
COMMENT ON COLUMN metal_encoders.rank IS 'Rank.';
COMMENT ON COLUMN metal_encoders.start_ns IS 'Begin of the encoding.';
COMMENT ON COLUMN metal_encoders.dur_ns IS 'CPU time from begin to end of the encoding; no GPU time.';
COMMENT ON COLUMN metal_encoders.pid IS 'Process.';
COMMENT ON COLUMN metal_encoders.process IS 'Name of the process with its pid.';
COMMENT ON COLUMN metal_encoders.tid IS 'Thread id.';
COMMENT ON COLUMN metal_encoders.thread IS 'Thread as Instruments shows it.';
COMMENT ON COLUMN metal_encoders.device IS 'GPU.';
COMMENT ON COLUMN metal_encoders.frame_number IS 'Frame; NULL outside frames.';
COMMENT ON COLUMN metal_encoders.cmdbuffer_label IS 'Label of the command buffer.';
COMMENT ON COLUMN metal_encoders.encoder_label IS 'Label of the encoder; unlabelled ones are numbered, so it is no kernel name.';
COMMENT ON COLUMN metal_encoders.event_type IS 'Encoding.';
COMMENT ON COLUMN metal_encoders.cmdbuffer_id IS 'Command buffer.';
COMMENT ON COLUMN metal_encoders.encoder_id IS 'Encoder.';

CREATE TABLE metal_command_buffers (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, event VARCHAR NOT NULL, start_ns BIGINT NOT NULL,
    dur_ns BIGINT, cmdbuffer_id UBIGINT, commit_id BIGINT, pid BIGINT, process VARCHAR, thread VARCHAR, label VARCHAR,
    encoders BIGINT, encoder_time_ns BIGINT
);
COMMENT ON TABLE metal_command_buffers IS 'Submission and completion of command buffers. Completions name no process: join by cmdbuffer_id.';
COMMENT ON COLUMN metal_command_buffers.run_id IS 'Run.';
COMMENT ON COLUMN metal_command_buffers.pass IS 'Pass.';
COMMENT ON COLUMN metal_command_buffers.rank IS 'Rank.';
COMMENT ON COLUMN metal_command_buffers.event IS 'submitted or completed.';
COMMENT ON COLUMN metal_command_buffers.start_ns IS 'Begin of the submission, or the moment of completion.';
COMMENT ON COLUMN metal_command_buffers.dur_ns IS 'Duration of the submission; NULL for completions.';
COMMENT ON COLUMN metal_command_buffers.cmdbuffer_id IS 'Command buffer.';
COMMENT ON COLUMN metal_command_buffers.commit_id IS 'Commit number of a completion.';
COMMENT ON COLUMN metal_command_buffers.pid IS 'Process of a submission.';
COMMENT ON COLUMN metal_command_buffers.process IS 'Name of that process with its pid.';
COMMENT ON COLUMN metal_command_buffers.thread IS 'Thread of a submission.';
COMMENT ON COLUMN metal_command_buffers.label IS 'As Instruments shows it.';
COMMENT ON COLUMN metal_command_buffers.encoders IS 'Encoders in a submission.';
COMMENT ON COLUMN metal_command_buffers.encoder_time_ns IS 'CPU time spent encoding a submission.';

CREATE TABLE metal_driver_intervals (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, source_table VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL, dur_ns BIGINT NOT NULL, driver VARCHAR, event_type VARCHAR, event_depth INTEGER, label VARCHAR,
    pid BIGINT, process VARCHAR, thread VARCHAR, device VARCHAR, object_id UBIGINT
);
COMMENT ON TABLE metal_driver_intervals IS 'Work of the Metal driver on the CPU.';
COMMENT ON COLUMN metal_driver_intervals.run_id IS 'Run.';
COMMENT ON COLUMN metal_driver_intervals.pass IS 'Pass.';
COMMENT ON COLUMN metal_driver_intervals.rank IS 'Rank.';
COMMENT ON COLUMN metal_driver_intervals.source_table IS 'Instruments table it is from; the tables overlap in what they show.';
COMMENT ON COLUMN metal_driver_intervals.start_ns IS 'Begin.';
COMMENT ON COLUMN metal_driver_intervals.dur_ns IS 'Duration.';
COMMENT ON COLUMN metal_driver_intervals.driver IS 'Driver, as the table names it.';
COMMENT ON COLUMN metal_driver_intervals.event_type IS 'Kind of work.';
COMMENT ON COLUMN metal_driver_intervals.event_depth IS 'Depth among nested rows, from 0.';
COMMENT ON COLUMN metal_driver_intervals.label IS 'As Instruments shows it.';
COMMENT ON COLUMN metal_driver_intervals.pid IS 'Process.';
COMMENT ON COLUMN metal_driver_intervals.process IS 'Name of the process with its pid.';
COMMENT ON COLUMN metal_driver_intervals.thread IS 'Thread as Instruments shows it.';
COMMENT ON COLUMN metal_driver_intervals.device IS 'GPU.';
COMMENT ON COLUMN metal_driver_intervals.object_id IS 'Object or resource concerned.';

CREATE TABLE metal_counter_intervals (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, start_ns BIGINT NOT NULL, dur_ns BIGINT NOT NULL,
    counter_id BIGINT, name VARCHAR, value DOUBLE, is_percentage BOOLEAN, label VARCHAR, group_index BIGINT,
    device VARCHAR
);
COMMENT ON TABLE metal_counter_intervals IS 'GPU counters over intervals. The numbers are in counters too; text like the top limiter is only here.';
COMMENT ON COLUMN metal_counter_intervals.run_id IS 'Run.';
COMMENT ON COLUMN metal_counter_intervals.pass IS 'Pass.';
COMMENT ON COLUMN metal_counter_intervals.rank IS 'Rank.';
COMMENT ON COLUMN metal_counter_intervals.start_ns IS 'Begin.';
COMMENT ON COLUMN metal_counter_intervals.dur_ns IS 'Duration.';
COMMENT ON COLUMN metal_counter_intervals.counter_id IS 'Counter number.';
COMMENT ON COLUMN metal_counter_intervals.name IS 'Counter.';
COMMENT ON COLUMN metal_counter_intervals.value IS 'Value as it was written: 0.1426 of a percentage is 0.1426 per cent. NULL for text.';
COMMENT ON COLUMN metal_counter_intervals.is_percentage IS 'Whether value is per cent.';
COMMENT ON COLUMN metal_counter_intervals.label IS 'As Instruments shows it: the value with its unit, or the text of a categorical counter.';
COMMENT ON COLUMN metal_counter_intervals.group_index IS 'Group of the counter.';
COMMENT ON COLUMN metal_counter_intervals.device IS 'GPU.';

CREATE TABLE metal_counter_info (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, counter_id BIGINT NOT NULL, name VARCHAR,
    description VARCHAR, unit VARCHAR, max_value DOUBLE, accelerator_id UBIGINT, group_index BIGINT, sample_interval_ns BIGINT
);
COMMENT ON TABLE metal_counter_info IS 'The counters that the GPU was asked for; their samples are in counters.';
COMMENT ON COLUMN metal_counter_info.run_id IS 'Run.';
COMMENT ON COLUMN metal_counter_info.pass IS 'Pass.';
COMMENT ON COLUMN metal_counter_info.rank IS 'Rank.';
COMMENT ON COLUMN metal_counter_info.counter_id IS 'Counter number.';
COMMENT ON COLUMN metal_counter_info.name IS 'Counter.';
COMMENT ON COLUMN metal_counter_info.description IS 'What Apple says of it.';
COMMENT ON COLUMN metal_counter_info.unit IS 'Type of the counter as written (Percentage, ...).';
COMMENT ON COLUMN metal_counter_info.max_value IS 'Greatest value.';
COMMENT ON COLUMN metal_counter_info.accelerator_id IS 'GPU.';
COMMENT ON COLUMN metal_counter_info.group_index IS 'Group of the counter.';
COMMENT ON COLUMN metal_counter_info.sample_interval_ns IS 'Sampling interval as written; its unit is taken to be ns.';

CREATE TABLE metal_shader_intervals (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, start_ns BIGINT NOT NULL, dur_ns BIGINT NOT NULL,
    name VARCHAR, label VARCHAR, pipeline VARCHAR, shader_type VARCHAR, percent_of_kick DOUBLE, total_kick_percent DOUBLE,
    pid BIGINT, process VARCHAR, channel VARCHAR, event_depth INTEGER, device VARCHAR
);
COMMENT ON TABLE metal_shader_intervals IS 'Samples of the shader timeline, which alone names kernels; empty on most machines.';
COMMENT ON COLUMN metal_shader_intervals.run_id IS 'Run.';
COMMENT ON COLUMN metal_shader_intervals.pass IS 'Pass.';
COMMENT ON COLUMN metal_shader_intervals.rank IS 'Rank.';
COMMENT ON COLUMN metal_shader_intervals.start_ns IS 'Begin.';
COMMENT ON COLUMN metal_shader_intervals.dur_ns IS 'Duration of the sample.';
COMMENT ON COLUMN metal_shader_intervals.name IS 'Shader.';
COMMENT ON COLUMN metal_shader_intervals.label IS 'Label of the function.';
COMMENT ON COLUMN metal_shader_intervals.pipeline IS 'Label of the pipeline.';
COMMENT ON COLUMN metal_shader_intervals.shader_type IS 'Compute, Vertex, Fragment, ...';
COMMENT ON COLUMN metal_shader_intervals.percent_of_kick IS 'Per cent of the GPU work in the sample, as written.';
COMMENT ON COLUMN metal_shader_intervals.total_kick_percent IS 'Per cent of all GPU work, as written.';
COMMENT ON COLUMN metal_shader_intervals.pid IS 'Process.';
COMMENT ON COLUMN metal_shader_intervals.process IS 'Name of the process with its pid.';
COMMENT ON COLUMN metal_shader_intervals.channel IS 'Channel.';
COMMENT ON COLUMN metal_shader_intervals.event_depth IS 'Depth among nested rows, from 0.';
COMMENT ON COLUMN metal_shader_intervals.device IS 'GPU.';

CREATE TABLE metal_allocated_size (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, start_ns BIGINT NOT NULL, dur_ns BIGINT,
    pid BIGINT, process VARCHAR, allocated_bytes BIGINT, label VARCHAR, track VARCHAR
);
COMMENT ON TABLE metal_allocated_size IS 'Bytes that Metal had allocated for a process over time (its driver memory).';
COMMENT ON COLUMN metal_allocated_size.run_id IS 'Run.';
COMMENT ON COLUMN metal_allocated_size.pass IS 'Pass.';
COMMENT ON COLUMN metal_allocated_size.rank IS 'Rank.';
COMMENT ON COLUMN metal_allocated_size.start_ns IS 'Begin of the time with this size.';
COMMENT ON COLUMN metal_allocated_size.dur_ns IS 'Duration.';
COMMENT ON COLUMN metal_allocated_size.pid IS 'Process.';
COMMENT ON COLUMN metal_allocated_size.process IS 'Name of the process with its pid.';
COMMENT ON COLUMN metal_allocated_size.allocated_bytes IS 'Bytes allocated.';
COMMENT ON COLUMN metal_allocated_size.label IS 'As Instruments shows it.';
COMMENT ON COLUMN metal_allocated_size.track IS 'Track of Instruments.';

CREATE TABLE signposts (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, source_table VARCHAR NOT NULL,
    status VARCHAR NOT NULL, name VARCHAR, subsystem VARCHAR, category VARCHAR, identifier VARCHAR, pid BIGINT, process VARCHAR,
    thread VARCHAR, start_ns BIGINT, end_ns BIGINT, dur_ns BIGINT, message VARCHAR, redacted BOOLEAN NOT NULL
);
COMMENT ON TABLE signposts IS 'Signposts (os_signpost). A Begin and its End are one row; one without the other is kept and has no duration.';
COMMENT ON COLUMN signposts.run_id IS 'Run.';
COMMENT ON COLUMN signposts.pass IS 'Pass.';
COMMENT ON COLUMN signposts.rank IS 'Rank.';
COMMENT ON COLUMN signposts.source_table IS 'Instruments table: os-signpost (events, paired here) or one of those that Instruments paired; they show the same signposts.';
COMMENT ON COLUMN signposts.status IS 'interval (paired), event (a moment), begin_only or end_only.';
COMMENT ON COLUMN signposts.name IS 'Name.';
COMMENT ON COLUMN signposts.subsystem IS 'Subsystem; PyTorchMPS for those of torch.mps.profiler.';
COMMENT ON COLUMN signposts.category IS 'Category.';
COMMENT ON COLUMN signposts.identifier IS 'Identifier that Begin and End share.';
COMMENT ON COLUMN signposts.pid IS 'Process.';
COMMENT ON COLUMN signposts.process IS 'Name of the process with its pid.';
COMMENT ON COLUMN signposts.thread IS 'Thread of the begin.';
COMMENT ON COLUMN signposts.start_ns IS 'Begin, or the moment of an event; NULL for end_only.';
COMMENT ON COLUMN signposts.end_ns IS 'End; NULL for events and begin_only.';
COMMENT ON COLUMN signposts.dur_ns IS 'Duration of an interval; NULL for all others, never 0 for want of an end.';
COMMENT ON COLUMN signposts.message IS 'Message; `redacted` where the system withheld it.';
COMMENT ON COLUMN signposts.redacted IS 'Whether the system withheld the message (<private>).';

CREATE TABLE device_states (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, kind VARCHAR NOT NULL, start_ns BIGINT NOT NULL,
    dur_ns BIGINT, state VARCHAR, induced BOOLEAN, narrative VARCHAR
);
COMMENT ON TABLE device_states IS 'Thermal state of the machine and performance state of its GPU over time.';
COMMENT ON COLUMN device_states.run_id IS 'Run.';
COMMENT ON COLUMN device_states.pass IS 'Pass.';
COMMENT ON COLUMN device_states.rank IS 'Rank.';
COMMENT ON COLUMN device_states.kind IS 'thermal or gpu_performance.';
COMMENT ON COLUMN device_states.start_ns IS 'Begin.';
COMMENT ON COLUMN device_states.dur_ns IS 'Duration.';
COMMENT ON COLUMN device_states.state IS 'Nominal, Fair, Serious, Critical; or Minimum, Medium, Maximum, as written.';
COMMENT ON COLUMN device_states.induced IS 'Whether a person forced the state in Instruments.';
COMMENT ON COLUMN device_states.narrative IS 'What Instruments says of it.';

CREATE TABLE time_info (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, update_ns BIGINT, mabs_epoch UBIGINT,
    mct_epoch UBIGINT, numerator BIGINT, denominator BIGINT, trace_start BIGINT
);
COMMENT ON TABLE time_info IS 'The recording''s clock: trace time in ns = mach time in ns - mabs_epoch * numerator / denominator.';
COMMENT ON COLUMN time_info.run_id IS 'Run.';
COMMENT ON COLUMN time_info.pass IS 'Pass.';
COMMENT ON COLUMN time_info.rank IS 'Rank.';
COMMENT ON COLUMN time_info.update_ns IS 'When it was written.';
COMMENT ON COLUMN time_info.mabs_epoch IS 'mach_absolute_time at the recording''s zero, in ticks. Several of them: the machine slept.';
COMMENT ON COLUMN time_info.mct_epoch IS 'mach_continuous_time at the recording''s zero, in ticks.';
COMMENT ON COLUMN time_info.numerator IS 'Nanoseconds for denominator ticks (125 on Apple silicon).';
COMMENT ON COLUMN time_info.denominator IS 'Ticks for numerator nanoseconds (3 on Apple silicon).';
COMMENT ON COLUMN time_info.trace_start IS 'Start of the trace as written; its unit is not known.';
