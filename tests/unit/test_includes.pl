#!/usr/bin/perl
# Draws which files of src and plugins depend on which, and fails on a circle and on an arrow that the build does not
# allow.
#
#   test_includes.pl ROOT           checks the includes of the tree below ROOT; prints each fault on a line
#   test_includes.pl --calls ROOT   checks that no files call each other in a circle
#   test_includes.pl --notices      checks the checker: small trees with one fault each, made in a temporary folder
#
# A room is a folder of src or plugins. A node is a room and a base name: x.c and x.h are one. CMakeLists.txt says what
# a room may include: its own headers, src/include/rr, and those of the rooms that its rr_layer or rr_plugin names after
# USES, and of theirs. The command line (src/cli) may include the headers of every room of src.
#
# A header may declare what several sources of its room define, so includes do not show every circle. The calls do: an
# arrow there is a source that uses a function of another source.
# SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Temp qw(tempdir);

my @faults;

sub fault { push @faults, sprintf(shift, @_) }

sub read_text {
    my ($path) = @_;
    open(my $file, '<', $path) or die "$path: $!\n";
    local $/;
    return scalar <$file>;
}

# room => [the rooms that its USES names]; faults where a target takes files of another folder.
sub read_uses {
    my ($root) = @_;
    my $text = read_text("$root/CMakeLists.txt");
    my %uses;

    $text =~ s/#[^\n]*//g;
    while ($text =~ /\brr_(layer|plugin)\((\w+)\s([^)]*)\)/g) {
        my ($kind, $room, $rest) = ($1, $2, $3);
        my ($before, $sources) = split /\bSOURCES\b/, $rest, 2;
        $uses{$room} = [$before =~ /\brr_(\w+)/g];
        push @{$uses{$room}}, 'base' if $kind eq 'plugin';
        fault("CMakeLists.txt: the target rr_$room lists %s, which is not in its folder", $_)
            for grep { m{^\.\./} } split ' ', $sources // '';
    }
    while ($text =~ /\badd_library\(rr_(\w+) STATIC\s+plugins\//g) {
        $uses{$1} = ['base'];
    }
    return \%uses;
}

# All rooms that a room may include headers of.
sub allowed_rooms {
    my ($uses, $room, $seen) = @_;
    $seen //= {};
    return $seen if $seen->{$room}++;
    allowed_rooms($uses, $_, $seen) for @{$uses->{$room} // []};
    return $seen;
}

# path => room, of every source and header; paths are below ROOT.
sub find_files {
    my ($root) = @_;
    my %room_of;

    for my $path (glob("$root/src/*/*.[ch] $root/src/include/rr/*.h $root/plugins/*/*.[ch]")) {
        my $below = substr($path, length($root) + 1);
        my (undef, $room) = split m{/}, $below;
        $room_of{$below} = $room;
    }
    return \%room_of;
}

sub base_name { return $_[0] =~ m{([^/]+)\.[ch]$} ? $1 : $_[0] }

# name of a header as it is written in an include => its path; faults where two rooms have one of this name.
sub find_headers {
    my ($room_of) = @_;
    my %path_of;

    for my $path (grep { /\.h$/ } sort keys %$room_of) {
        my $name = $path =~ m{^src/include/(.*)} ? $1 : base_name($path) . '.h';
        fault('%s and %s have one name: "%s" may mean either', $path_of{$name}, $path, $name) if $path_of{$name};
        $path_of{$name} //= $path;
    }
    return \%path_of;
}

# "room/base" => {"room/base" => 1}: the arrows; faults where one is not allowed.
sub draw_includes {
    my ($root, $uses, $room_of, $path_of) = @_;
    my %arrows;

    for my $path (sort keys %$room_of) {
        my $room = $room_of->{$path};
        my $from = "$room/" . base_name($path);
        my $allowed = allowed_rooms($uses, $room);
        my $text = read_text("$root/$path");

        $arrows{$from} //= {};
        while ($text =~ /^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<(rr\/[^>]+)>)/mg) {
            my $name = $1 // $2;
            next if $name =~ /\.pb-c\.h$/;
            my $header = $path_of->{$name};
            if (!defined $header) {
                fault('%s includes "%s", which no room has', $path, $name);
                next;
            }
            my $to_room = $room_of->{$header};
            fault('%s includes %s, but CMakeLists.txt does not let %s use %s', $path, $header, $room, $to_room)
                unless $to_room eq 'include' || $allowed->{$to_room} || ($room eq 'cli' && $header =~ m{^src/});
            my $to = "$to_room/" . base_name($header);
            $arrows{$from}{$to} = 1 if $to ne $from;
        }
    }
    return \%arrows;
}

# name of a function that other sources may call => its node.
sub find_functions {
    my ($root, $room_of) = @_;
    my %node_of;

    for my $path (grep { /\.c$/ } sort keys %$room_of) {
        my $text = read_text("$root/$path");
        $node_of{$1} = "$room_of->{$path}/" . base_name($path)
            while $text =~ /^(?!static\b)[a-z][^;{}()=\n]*?\b(\w+)\([^;{}]*\)\s*\n\{/mg;
    }
    return \%node_of;
}

# "room/base" => {"room/base" => 1}: who uses a function of whom.
sub draw_calls {
    my ($root, $room_of) = @_;
    my $node_of = find_functions($root, $room_of);
    my %arrows;

    for my $path (grep { /\.c$/ } sort keys %$room_of) {
        my $from = "$room_of->{$path}/" . base_name($path);
        my $text = read_text("$root/$path");

        $text =~ s{/\*.*?\*/|"(?:[^"\\\n]|\\.)*"}{}gs;
        while ($text =~ /\b(\w+)\b/g) {
            my $to = $node_of->{$1} // $from;
            $arrows{$from}{$to} = 1 if $to ne $from;
        }
    }
    return \%arrows;
}

# The shortest way along the arrows from a node back to itself, as a list that begins and ends with it; or nothing.
sub shortest_circle {
    my ($arrows, $start) = @_;
    my (%came_from, @queue);

    @queue = ($start);
    while (@queue) {
        my $at = shift @queue;
        for my $next (sort keys %{$arrows->{$at} // {}}) {
            if ($next eq $start) {
                my @way = ($start);
                for (my $node = $at; $node ne $start; $node = $came_from{$node}) {
                    unshift @way, $node;
                }
                return ($start, @way);
            }
            next if exists $came_from{$next};
            $came_from{$next} = $at;
            push @queue, $next;
        }
    }
    return;
}

# Each circle once, however many of its files one begins at.
sub find_circles {
    my ($kind, $arrows) = @_;
    my %seen;

    for my $node (sort keys %$arrows) {
        my @circle = shortest_circle($arrows, $node) or next;
        my $members = join ' ', sort @circle[1 .. $#circle];
        fault('a circle of %s: %s', $kind, join(' -> ', @circle)) unless $seen{$members}++;
    }
}

sub check_rooms {
    my ($uses, $room_of) = @_;
    my %rooms = map { $_ => 1 } values %$room_of;

    for my $room (sort keys %rooms) {
        fault('the folder %s has no rr_layer or rr_plugin of its name in CMakeLists.txt', $room)
            unless $uses->{$room} || $room eq 'cli' || $room eq 'include';
    }
}

sub check_calls {
    my ($root) = @_;
    @faults = ();
    find_circles('calls', draw_calls($root, find_files($root)));
    return @faults;
}

sub check_includes {
    my ($root) = @_;
    @faults = ();
    my $uses = read_uses($root);
    my $room_of = find_files($root);

    fault('%s has no sources', $root) unless %$room_of;
    check_rooms($uses, $room_of);
    find_circles('includes', draw_includes($root, $uses, $room_of, find_headers($room_of)));
    return @faults;
}

# ---- the checker checked ----

sub make_tree {
    my (%files) = @_;
    my $root = tempdir(CLEANUP => 1);

    for my $path (keys %files) {
        my $folder = $root;
        my @folders = split m{/}, $path;
        pop @folders;
        for (@folders) {
            $folder .= "/$_";
            mkdir $folder;
        }
        open(my $file, '>', "$root/$path") or die "$path: $!\n";
        print $file $files{$path};
        close $file;
    }
    return $root;
}

my %good = (
    'CMakeLists.txt' => "rr_layer(base SOURCES buf.c)\n# rr_layer(base USES rr_host)\nrr_layer(core USES rr_base\n"
        . "  SOURCES join.c)\nrr_layer(host USES rr_core SOURCES log.c)\nrr_plugin(store_one SOURCES one.c)\n",
    'src/include/rr/store.h' => "",
    'src/base/buf.h' => "#include <rr/store.h>\n#include <stdio.h>\n",
    'src/base/buf.c' => "#include \"buf.h\"\n",
    'src/core/join.h' => "#include \"buf.h\"\n",
    'src/core/join.c' => "#include \"join.h\"\n#include \"words.h\"\n",
    'src/core/words.h' => "",
    'src/host/log.c' => "#include \"join.h\"\n#include \"buf.h\"\n",
    'src/cli/main.c' => "#include \"join.h\"\n",
    'plugins/store_one/one.c' => "#include <rr/store.h>\n#include \"buf.h\"\n",
);

# What is put into the good tree; what the one fault must then be like, or undef where there must be none.
my @rows = (
    [{}, undef],
    [{'src/core/words.h' => "#include \"join.h\"\n", 'src/core/join.h' => "#include \"words.h\"\n"},
        qr{^a circle of includes: core/join -> core/words -> core/join$}],
    [{'src/core/a.c' => "#include \"b.h\"\n", 'src/core/a.h' => "", 'src/core/b.h' => "",
      'src/core/b.c' => "#include \"c.h\"\n", 'src/core/c.h' => "  #  include \"a.h\"\n"},
        qr{^a circle of includes: core/a -> core/b -> core/c -> core/a$}],
    [{'src/host/yaml.h' => "", 'src/core/words.h' => "#include \"yaml.h\"\n"},
        qr{^src/core/words.h includes src/host/yaml.h, but CMakeLists.txt does not let core use host$}],
    [{'plugins/store_one/one.h' => "#include \"join.h\"\n"}, qr{^plugins/store_one/one.h includes src/core/join.h, but }],
    [{'src/cli/main.c' => "#include \"one.h\"\n", 'plugins/store_one/one.h' => ""},
        qr{^src/cli/main.c includes plugins/store_one/one.h, but }],
    [{'src/host/words.h' => ""}, qr{^src/core/words.h and src/host/words.h have one name}],
    [{'src/host/log.c' => "#include \"gone.h\"\n"}, qr{^src/host/log.c includes "gone.h", which no room has$}],
    [{'src/attic/old.c' => ""}, qr{^the folder attic has no rr_layer}],
    [{'CMakeLists.txt' => $good{'CMakeLists.txt'} . "rr_layer(late USES rr_base SOURCES ../core/join.c)\n"},
        qr{^CMakeLists.txt: the target rr_late lists \.\./core/join.c}],
    [{'src/host/log.c' => "int rr_log(\n    int a)\n{\n    return rr_yaml();\n}\n",
      'src/host/yaml.c' => "int rr_yaml(void)\n{\n    return rr_log(0);\n}\n"},
        qr{^a circle of calls: host/log -> host/yaml -> host/log$}],
    [{'src/host/log.c' => "int rr_log(int a)\n{\n    return rr_yaml();\n}\n",
      'src/host/yaml.c' => "/* rr_log */\nint rr_yaml(void)\n{\n    return strlen(\"rr_log\");\n}\n"}, undef],
);

sub check_checker {
    my $bad = 0;

    for my $k (0 .. $#rows) {
        my ($files, $wanted) = @{$rows[$k]};
        my $root = make_tree(%good, %$files);
        my @found = (check_includes($root), check_calls($root));
        next if defined $wanted ? @found == 1 && $found[0] =~ $wanted : @found == 0;
        printf "tree %d: wanted %s, found: %s\n", $k, $wanted // 'no fault', join('; ', @found) || 'no fault';
        $bad++;
    }
    return $bad;
}

if (@ARGV == 1 && $ARGV[0] eq '--notices') {
    exit(check_checker() == 0 ? 0 : 1);
}
my $check = @ARGV == 2 && $ARGV[0] eq '--calls' ? \&check_calls : @ARGV == 1 ? \&check_includes
    : die "usage: test_includes.pl [--calls] ROOT | --notices\n";
my @found = $check->($ARGV[-1]);
print "$_\n" for @found;
exit(@found == 0 ? 0 : 1);
